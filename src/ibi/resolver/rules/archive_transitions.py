"""Transitions of a registered archive: pure functions, one for each act that changes it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ibi.errors import ResolverRequestError, Sentence, shown
from ibi.identifier.limits import MAX_PORT
from ibi.model.archive_record import ArchiveRecord
from ibi.model.clock import SECOND
from ibi.model.registration import Inclusion, ProvedPlace, RegisteredArchive
from ibi.resolver.rules.home_places import proved_at

KEY_GRACE: Final = 24 * 3600 * SECOND
"""Nanoseconds for which the previous key is valid after a rotation: the administrator has to
configure the new key in the archive meanwhile."""
MAX_HOSTS: Final = 100

# RFC 2396, 3.2.2: hostport, as an archive's own address.
_HOST: Final = re.compile(r"(?:[a-z0-9][a-z0-9._-]{0,252}|\[[0-9a-f:.]{2,45}\])(?::([0-9]{1,5}))?")


def confirmed(archive: RegisteredArchive, now: int) -> RegisteredArchive:
    """Confirm a registration; a confirmed one stays as it is."""
    return archive if archive.confirmed else replace(archive, confirmed=now)


def with_seniority(
    archive: RegisteredArchive, before: RegisteredArchive | None, number: int
) -> RegisteredArchive:
    """Give an archive the number of the change that confirms its registration, and that for good.

    `before` is the stored archive. The number is of the database: clocks of several machines
    differ, and are set back.
    """
    if not archive.confirmed:
        return archive
    if before is not None and before.confirmed:
        number = before.seniority
    return replace(archive, seniority=number)


def rotated(archive: RegisteredArchive, key: str, now: int) -> RegisteredArchive:
    """Give the archive another key. After a revocation there is no previous key to keep valid.

    The next inclusion issues another secret of the link.
    """
    until = now + KEY_GRACE if archive.key else 0
    return replace(archive, key=key, previous_key=archive.key, previous_until=until, link_secret="")


def revoked(archive: RegisteredArchive, now: int) -> RegisteredArchive:
    """Delete the key of the archive, and exclude it."""
    without_key = replace(excluded(archive, now), key="", previous_key="", previous_until=0)
    return replace(without_key, link_secret="")


def included(  # noqa: PLR0913  # what an inclusion is made of
    archive: RegisteredArchive,
    record: ArchiveRecord,
    now: int,
    *,
    confirmed: bool,  # as the standard calls it
    places: tuple[ProvedPlace, ...] = (),
    secret: str = "",
) -> RegisteredArchive:
    """Include the archive at the address of its record; an archive that moved has no outage.

    `places` are those of which its confirmation proved control. If there are none, it stays at home
    where it was before, unless it moved: an archive that was just switched on may not listen yet.
    `secret` is that of the link, if it has none yet.
    """
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
    if not places and proved_at(record.address) in archive.confirmed_at:
        places = archive.confirmed_at
    kept = archive.link_secret or secret
    return replace(
        archive, inclusion=inclusion, outage=outage, confirmed_at=places, link_secret=kept
    )


def excluded(archive: RegisteredArchive, now: int) -> RegisteredArchive:
    """Exclude the archive; an excluded one stays as it is."""
    if archive.inclusion is None:
        return archive
    return replace(archive, inclusion=None, outage=None, excluded=now)


def with_outage_of(archive: RegisteredArchive, seen: RegisteredArchive) -> RegisteredArchive:
    """Adopt the outage, or the end of one, that another process recorded.

    Nothing changes if the archive has moved or was excluded since, or if both agree already, so
    that two processes do not record the same.
    """
    is_known = (archive.outage is None) == (seen.outage is None)
    if is_known or archive.inclusion is None or archive.address != seen.address:
        return archive
    return replace(archive, outage=seen.outage)


def is_overtaken(before: RegisteredArchive, archive: RegisteredArchive) -> bool:
    """Return whether the archive was excluded, or moved, since it sent a request."""
    return (before.excluded, before.address) != (archive.excluded, archive.address)


def is_repetition(before: RegisteredArchive, after: RegisteredArchive) -> bool:
    """Return whether an archive has only announced itself again.

    Archives do so every hour, which is of no interest in the history.
    """
    if before.inclusion is None or after.inclusion is None:
        return before == after
    return replace(before, inclusion=replace(before.inclusion, seen=after.inclusion.seen)) == after


def good_keys(archive: RegisteredArchive | None, now: int) -> tuple[str, str]:
    """Return the stored key and the previous one; empty where one is not valid now."""
    if archive is None or not archive.confirmed:
        return "", ""
    return archive.key, archive.previous_key if now < archive.previous_until else ""


def read_hosts(hosts: Sequence[str]) -> tuple[str, ...]:
    """Parse the further hosts that an archive's URLs may be on; no patterns, no whole domains."""
    read = tuple(dict.fromkeys(host.strip().lower() for host in hosts))
    if len(read) > MAX_HOSTS:
        raise ResolverRequestError(
            Sentence("An archive may have %(hosts)s further hosts at most.", hosts=MAX_HOSTS)
        )
    for host in read:
        match = _HOST.fullmatch(host)
        if match is None or not 0 < int(match[1] or "80") <= MAX_PORT:
            raise ResolverRequestError(
                Sentence("%(host)s is no host, with or without a port.", host=shown(host))
            )
    return read
