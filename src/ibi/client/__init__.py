"""Clients of running archives and resolvers, for Python programs and the command line."""
