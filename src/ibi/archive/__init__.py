"""The archive: its rules, pure where they decide, and by ports where they act (spec part 4)."""
