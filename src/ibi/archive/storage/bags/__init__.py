"""Reading and writing of BagIt bags."""
