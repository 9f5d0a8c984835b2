"""Recovery."""
