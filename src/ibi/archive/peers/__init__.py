"""Outbound HTTP of an archive, to other archives and to resolvers."""
