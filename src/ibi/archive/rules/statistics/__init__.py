"""Rules of what is counted."""
