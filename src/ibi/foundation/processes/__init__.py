"""Processes: how a service is run, by one of them or by several."""
