"""Drafts of deposits: their ids, their purposes, and the fields of their forms."""
