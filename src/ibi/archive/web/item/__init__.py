"""The page of an item: its endpoint, what it shows, and previews of files."""
