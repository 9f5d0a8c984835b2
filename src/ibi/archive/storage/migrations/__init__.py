"""Steps from one schema to the next, run by Alembic; never changed afterwards.

Files named r are the archive's catalogue, files named s the resolver's registry: a branch each.
"""
