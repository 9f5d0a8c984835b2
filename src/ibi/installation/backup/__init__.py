"""Backup of an installation, its verification, and restore."""
