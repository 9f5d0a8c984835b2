"""Harvesting: what other systems read of all published items, and follow."""
