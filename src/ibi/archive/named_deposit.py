"""A deposit that is found again by what it is for, however often that is begun.

Its id follows from those facts. One that was completed has had its day: what it brought may have
been dropped since and be wanted again, and comes by a deposit with the next number then.
"""

from __future__ import annotations

import hashlib
import itertools

from ibi.archive.archive import Archive
from ibi.ports import Deposit


def named_deposit(archive: Archive, prefix: str, facts: str, who: str, request: bytes) -> str:
    """Return the id of the deposit that was begun before, or of a new one that makes a request.

    Whoever calls this is changing the archive: no other thread begins the same one meanwhile.
    """
    catalogue = archive.catalogue
    ids = (_id(prefix, facts, number) for number in itertools.count())
    rows = ((id_, catalogue.deposit(id_)) for id_ in ids)
    id_, known = next((id_, row) for id_, row in rows if row is None or not row.completed)
    if known is None:
        catalogue.open_deposit(Deposit(id_, archive.clock.wall(), who, request.decode()))
    return id_


def _id(prefix: str, facts: str, number: int) -> str:
    return prefix + hashlib.sha256(f"{facts} {number}".encode()).hexdigest()[:40]
