"""The labels of the standard, parsed and written: pure functions and frozen values, no I/O."""
