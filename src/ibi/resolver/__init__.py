"""The resolver: finds items among archives (spec part 5; 004, chapters 5 and 6)."""
