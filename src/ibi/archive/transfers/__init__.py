"""Transfers of Originals to and from other archives."""
