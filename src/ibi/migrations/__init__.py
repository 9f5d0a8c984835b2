"""Steps from one schema of the catalogue to the next, run by Alembic; never changed afterwards."""
