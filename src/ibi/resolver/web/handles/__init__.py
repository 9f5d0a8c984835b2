"""Handle records of IBIs, for clients of the Handle System."""
