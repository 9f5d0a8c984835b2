"""The search for an item among archives, and conflicts between their claims."""
