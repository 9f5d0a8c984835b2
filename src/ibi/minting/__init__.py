"""Minting: an instant for every request, and the two labels made of it (003, chapter 6)."""
