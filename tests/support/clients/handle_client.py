"""A client of the Handle System, as it is shipped by its authors (pyhandle)."""

from __future__ import annotations

import warnings

with warnings.catch_warnings():
    # Python warns of escapes in its docstrings, when it compiles them.
    warnings.simplefilter("ignore")
    from pyhandle.client.resthandleclient import RESTHandleClient
    from pyhandle.handleexceptions import GenericHandleError

REFUSED = GenericHandleError
"""What it raises for a handle that has no record, unless there is no such handle."""


def handle_client(address: str) -> RESTHandleClient:
    """Return a client that reads from a server."""
    return RESTHandleClient.instantiate_for_read_access(address)
