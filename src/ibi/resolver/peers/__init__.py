"""Outbound HTTP of a resolver, to archives."""
