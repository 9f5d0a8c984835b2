"""Backup."""
