"""Acknowledgments."""
