"""The HTTP API of an archive, a module for each capability."""
