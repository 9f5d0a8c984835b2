"""What becomes of an archive on record by an act: pure, and all that an act may change."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ibi.errors import ResolverRequestError, shown
from ibi.identifier.limits import MAX_PORT
from ibi.model.archive_record import ArchiveRecord
from ibi.model.registration import Inclusion, RegisteredArchive

GRACE: Final = 24 * 3600 * 1_000_000_000
"""For which the key before a rotation is good: an archive has to be told of the new one."""
MOST_HOSTS: Final = 100

# RFC 2396, 3.2.2: hostport, as an archive's own address.
_HOST: Final = re.compile(r"(?:[a-z0-9][a-z0-9._-]{0,252}|\[[0-9a-f:.]{2,45}\])(?::([0-9]{1,5}))?")


def confirmed(archive: RegisteredArchive, now: int) -> RegisteredArchive:
    """Make a registration good; one that is good stays as it is."""
    return archive if archive.confirmed else replace(archive, confirmed=now)


def rotated(archive: RegisteredArchive, key: str, now: int) -> RegisteredArchive:
    """Give it another key; after a revocation there is none that could be good for longer."""
    until = now + GRACE if archive.key else 0
    return replace(archive, key=key, previous_key=archive.key, previous_until=until)


def revoked(archive: RegisteredArchive, now: int) -> RegisteredArchive:
    """Take its key, and exclude it."""
    return replace(excluded(archive, now), key="", previous_key="", previous_until=0)


def included(
    archive: RegisteredArchive,
    record: ArchiveRecord,
    now: int,
    *,
    confirmed: bool,  # as the standard calls it
) -> RegisteredArchive:
    """Include it where it says that it is; who has moved begins without an outage."""
    before = archive.inclusion
    stays = before is not None and before.address == record.address
    inclusion = Inclusion(
        address=record.address,
        ip=record.ip,
        platform_version=record.platform_version,
        administrator=record.administrator,
        since=before.since if before is not None and stays else now,
        seen=now,
        confirmed=confirmed,
    )
    outage = archive.outage if stays and not confirmed else None
    return replace(archive, inclusion=inclusion, outage=outage)


def excluded(archive: RegisteredArchive, now: int) -> RegisteredArchive:
    """Exclude it; one that is excluded stays as it is."""
    if archive.inclusion is None:
        return archive
    return replace(archive, inclusion=None, outage=None, excluded=now)


def heard_of(archive: RegisteredArchive, seen: RegisteredArchive) -> RegisteredArchive:
    """Take it for down or up, as somebody has seen it; not if it has moved since, or is off.

    Who says what is on record already changes nothing, so that no two say it.
    """
    is_known = (archive.outage is None) == (seen.outage is None)
    if is_known or archive.inclusion is None or archive.address != seen.address:
        return archive
    return replace(archive, outage=seen.outage)


def is_overtaken(before: RegisteredArchive, archive: RegisteredArchive) -> bool:
    """Tell whether it was switched off, or on elsewhere, since a request of it came in."""
    return (before.excluded, before.address) != (archive.excluded, archive.address)


def is_repetition(before: RegisteredArchive, after: RegisteredArchive) -> bool:
    """Tell whether nothing happened but that an archive announced itself again.

    Archives do so every hour: a history of that would be read by nobody.
    """
    if before.inclusion is None or after.inclusion is None:
        return before == after
    return replace(before, inclusion=replace(before.inclusion, seen=after.inclusion.seen)) == after


def good_keys(archive: RegisteredArchive | None, now: int) -> tuple[str, str]:
    """Return what is kept of the key and of the one before; empty for what is not good now."""
    if archive is None or not archive.confirmed:
        return "", ""
    return archive.key, archive.previous_key if now < archive.previous_until else ""


def read_hosts(hosts: Sequence[str]) -> tuple[str, ...]:
    """Read hosts that an archive's URLs may be on, each once; no patterns, and no whole domains."""
    read = tuple(dict.fromkeys(host.strip().lower() for host in hosts))
    if len(read) > MOST_HOSTS:
        raise ResolverRequestError(f"An archive may have {MOST_HOSTS} further hosts at most.")
    for host in read:
        match = _HOST.fullmatch(host)
        if match is None or not 0 < int(match[1] or "80") <= MAX_PORT:
            raise ResolverRequestError(f"{shown(host)} is no host, with or without a port.")
    return read
