"""The labels of the standard, read and written: pure functions and frozen values, no I/O."""
