"""Names of other systems by which items of an archive are found."""
