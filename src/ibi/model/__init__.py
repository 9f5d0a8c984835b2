"""What the system speaks of: items, their names and relations, archives. Pure values."""
