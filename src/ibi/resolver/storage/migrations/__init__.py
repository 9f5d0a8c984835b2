"""Steps from one schema to the next, run by Alembic; a released one is never changed."""
