"""What programs find of items: lines of a dump, and editions by time."""
