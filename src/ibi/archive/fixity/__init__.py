"""Audits of files, the record of damages, and repair."""
