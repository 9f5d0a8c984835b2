"""The archives on record: registration, inclusion and availability."""
