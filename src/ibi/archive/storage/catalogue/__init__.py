"""The catalogue in SQL: items, deposits, tasks, statistics."""
