"""BagIt bags, read and written."""
