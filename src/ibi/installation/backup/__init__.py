"""Backup, verification and restore of an installation, whichever databases it uses."""
