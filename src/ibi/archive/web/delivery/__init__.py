"""Delivery of files to readers."""
