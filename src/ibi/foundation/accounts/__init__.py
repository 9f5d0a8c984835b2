"""Accounts of people: passwords, sessions, invitations, and the pages for them."""
