"""The checks of `ibi doctor` for a resolver or an archive, whether it runs or not."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from ibi.archive.health import (
    LinkFacts,
    ledger_finding,
    link_findings,
    restored_findings,
    upkeep_findings,
)
from ibi.archive.ports.restoration import UNRECONCILED
from ibi.archive.settings import ARCHIVE_FILE, ArchiveSettings, read_archive
from ibi.archive.storage.migrations import ARCHIVE_MIGRATIONS
from ibi.client.archive import RemoteArchive
from ibi.client.resolver import RemoteResolver
from ibi.errors import IbiError, RequestError
from ibi.foundation.system.host_checks import disk_findings, folder_findings, name_findings
from ibi.foundation.system.instance_lock import serving_at, token_of
from ibi.installation import host_probe
from ibi.installation.settings import ProgramName
from ibi.minting.rules.reservation import ReservationLimits
from ibi.model.finding import Finding
from ibi.resolver.settings import RESOLVER_FILE, ResolverSettings, read_resolver
from ibi.resolver.storage.migrations import RESOLVER_MIGRATIONS

_SECRETS: Final = ("token", ARCHIVE_FILE, RESOLVER_FILE)
MAX_DIGEST_AGE_SECONDS: Final = 7200
"""Seconds after which a digest is ignored; a test checks that the resolver uses the same limit."""
_SERVICE: Final = "SELECT label FROM archive_item WHERE kind = 'service'"
_UNRECONCILED: Final = f"SELECT value FROM archive_setting WHERE name = '{UNRECONCILED}'"  # noqa: S608  # our own name
_IDENTITY: Final = "SELECT identity FROM ibi_ledger"
_MARK: Final = "SELECT max(mark) FROM ibi_prefix"


def instance_findings(part: ProgramName, folder: Path) -> Iterator[Finding]:
    """Check the instance in a folder."""
    file = ARCHIVE_FILE if part == "archive" else RESOLVER_FILE
    if not (folder / file).exists():
        yield Finding(
            part, "settings", "warning", f"none in {folder}", f"'ibi {part} init' or 'up'"
        )
        return
    try:
        settings = read_archive(folder) if part == "archive" else read_resolver(folder)
    except RequestError as fault:
        yield Finding(part, "settings", "failure", str(fault), "mend the file")
        return
    yield Finding(part, "settings", "ok", str(folder / file))
    yield from folder_findings(part, folder, _SECRETS)
    folders = {settings.folder}
    if isinstance(settings, ArchiveSettings):
        folders.add(settings.root)
    yield from disk_findings(part, folders)
    if isinstance(settings, ArchiveSettings):
        yield _database(part, "catalogue", settings.place(settings.catalogue))
        yield from _restored(settings)
        yield _ledger(settings)
    else:
        yield _database(part, "registry", settings.place)
    yield from _names(part, settings)
    yield from _running(part, settings)


def _database(part: ProgramName, name: str, place: str) -> Finding:
    migrations = ARCHIVE_MIGRATIONS if part == "archive" else RESOLVER_MIGRATIONS
    try:
        select = f"SELECT version_num FROM {migrations.version_table}"  # noqa: S608  # our own names
        [(version,)] = host_probe.rows_of(place, select)
    except (OSError, ValueError) as failure:
        advice = "'ibi archive rebuild'" if part == "archive" else "put back a copy"
        return Finding(part, name, "failure", f"it cannot be read: {failure}", advice)
    if version == migrations.newest:
        return Finding(part, name, "ok", f"version {version}")
    text = f"version {version}, and this program makes {migrations.newest}"
    return Finding(part, name, "warning", text, "the next start brings it to that, if it is newer")


def _restored(settings: ArchiveSettings) -> Iterator[Finding]:
    """Check whether Originals that were given away since a backup are conceded."""
    try:
        rows = host_probe.rows_of(settings.place(settings.catalogue), _UNRECONCILED)
    except OSError:  # another finding says so
        return
    for (moment,) in rows:
        yield from restored_findings(moment)


def _ledger(settings: ArchiveSettings) -> Finding:
    try:
        [(mark,)] = host_probe.rows_of(settings.place(settings.ledger), _MARK)
    except OSError as failure:
        text, advice = f"it cannot be read: {failure}", "see docs/how-to/mend-a-refusal.md"
        return Finding("archive", "ledger", "failure", text, advice)
    return ledger_finding(mark or 0, time.time_ns(), ReservationLimits().behind)


def _names(part: ProgramName, settings: ArchiveSettings | ResolverSettings) -> Iterator[Finding]:
    """Look up the public names: that of the address, and that in labels."""
    hosts = {urlsplit(settings.address).hostname or ""}
    if isinstance(settings, ArchiveSettings):
        hosts.add(settings.host)
    yield from name_findings(part, hosts, getattr(settings, "ip", ""), ARCHIVE_FILE)


def _running(part: ProgramName, settings: ArchiveSettings | ResolverSettings) -> Iterator[Finding]:
    address = serving_at(settings.folder)
    start = f"'ibi up', or 'ibi {part} serve'"
    if not address:
        yield Finding(part, "service", "warning", "it is not running", start)
        return
    if not _is_itself(settings, address):
        text = f"it should run at {address}, and does not answer there"
        yield Finding(part, "service", "failure", text, f"start it again: {start}")
        return
    yield Finding(part, "service", "ok", f"it runs at {address}")
    if settings.address != address:
        yield _public(part, settings)
    try:
        if part == "archive":
            archive = RemoteArchive(address, token_of(settings.folder))
            yield from link_findings(_links(archive.ask("GET", "resolvers")["links"]))
            known = archive.ask("GET", "statistics/holdings")
            yield from upkeep_findings(known["damaged"], known["copies"]["missing"])
        else:
            resolver = RemoteResolver(address, token_of(settings.folder))
            archives = resolver.ask("GET", "archives")["archives"]
            yield _archives(archives)
            yield from digest_findings(archives)
            yield _conflicts(len(resolver.ask("GET", "conflicts")["conflicts"]))
    except IbiError as refusal:
        yield Finding(part, "service", "warning", f"further checks failed: {refusal}")


def _public(part: ProgramName, settings: ArchiveSettings | ResolverSettings) -> Finding:
    if _is_itself(settings, settings.address):
        return Finding(part, "address", "ok", f"{settings.address} leads here")
    if isinstance(settings, ArchiveSettings) and _has_its_service(settings, settings.address):
        text = f"another instance of this archive answers at {settings.address}"
        advice = "stop one of the two: both give out the same labels"
        return Finding(part, "address", "failure", text, advice)
    text = f"{settings.address} does not lead here"
    return Finding(part, "address", "failure", text, "look at DNS, proxy and firewall")


def _is_itself(settings: ArchiveSettings | ResolverSettings, address: str) -> bool:
    """Return whether this very instance answers at an address."""
    if isinstance(settings, ResolverSettings):
        facts = host_probe.probe(f"{address}/api/v1/resolver").facts
        own = (settings.name, settings.address, settings.service)
        return (facts.get("name"), facts.get("address"), facts.get("service")) == own
    facts = host_probe.probe(f"{address}/api/v1/archive").facts
    return _is_of(settings, facts) and _ledger_of(settings) == facts.get("instance")


def _ledger_of(settings: ArchiveSettings) -> str:
    """Return the identity of the ledger of an archive; empty if it cannot be read."""
    try:
        rows = host_probe.rows_of(settings.place(settings.ledger), _IDENTITY)
    except OSError:
        return ""
    return str(rows[0][0]) if rows else ""


def _has_its_service(settings: ArchiveSettings, address: str) -> bool:
    """Return whether an instance with the service label of an archive answers at an address."""
    return _is_of(settings, host_probe.probe(f"{address}/api/v1/archive").facts)


def _is_of(settings: ArchiveSettings, facts: dict[str, Any]) -> bool:
    labels = facts.get("service")
    known = list(labels.values()) if isinstance(labels, dict) else []
    try:
        found = host_probe.rows_of(settings.place(settings.catalogue), _SERVICE)
    except OSError:
        return False
    return bool(found) and found[0][0] in known


def _links(links: list[dict[str, Any]]) -> list[LinkFacts]:
    return [
        LinkFacts(link["resolver"], link["state"], link["since"], link.get("reason", ""))
        for link in links
    ]


def _archives(archives: list[dict[str, Any]]) -> Finding:
    down = [each["service_ibi"] for each in archives if each["state"] == "down"]
    if down:
        text = f"down: {', '.join(down)}"
        return Finding("resolver", "archives", "warning", text, "'ibi resolver archives' says why")
    included = sum(each["state"] == "included" for each in archives)
    return Finding("resolver", "archives", "ok", f"{included} of {len(archives)} included")


def digest_findings(archives: list[dict[str, Any]]) -> Iterator[Finding]:
    """Check for archives asked about every item, because their digests are old or refused."""
    for each in archives:
        if refused := each.get("digest", {}).get("refused"):
            text = f"that of {each['service_ibi']} is refused: {refused}"
            advice = "it is asked for everything; digest_names in resolver.toml may be raised"
            yield Finding("resolver", "digests", "warning", text, advice)
    held = [each for each in archives if each.get("digest", {}).get("whole")]
    bound = datetime.now(UTC) - timedelta(seconds=MAX_DIGEST_AGE_SECONDS)
    old = [
        each["service_ibi"]
        for each in held
        if datetime.fromisoformat(each["digest"]["confirmed"]) < bound
    ]
    if old:
        text = f"old: {', '.join(old)}"
        advice = "they are asked for everything: look whether they answer at /api/v1/digest"
        yield Finding("resolver", "digests", "warning", text, advice)
    elif held:
        yield Finding("resolver", "digests", "ok", f"{len(held)} of {len(archives)} archives")


def _conflicts(count: int) -> Finding:
    if count:
        text = f"{count} open"
        return Finding("resolver", "conflicts", "warning", text, "settle: 'ibi resolver conflicts'")
    return Finding("resolver", "conflicts", "ok", "none")
