"""Drafts: deposits in the making, saved at once, reviewed if the archive wants that, published."""
