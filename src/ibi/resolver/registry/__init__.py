"""The registered archives: registration, inclusion and availability."""
