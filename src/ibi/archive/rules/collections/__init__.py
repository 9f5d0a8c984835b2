"""The rules of collections: which items are one, and which items belong to one."""
