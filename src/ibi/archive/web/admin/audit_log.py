"""The page with the history of an archive: the acts of people and tokens, the newest first."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlencode

import msgspec
from starlette.responses import Response

from ibi.archive.ports.catalogue import Catalogue, HistoryChoice, HistoryEntry
from ibi.archive.web.admin.tabs import AUDIT_LOG
from ibi.archive.web.api.date_query import span_in
from ibi.errors import ArchiveRequestError
from ibi.foundation.pages.administration import AdminSite
from ibi.foundation.web.page_operations import PageRequest
from ibi.model.account import owner_of

_SHOWN: Final = 50
"""Lines of a page."""
_LONGEST: Final = 200
"""Characters of a detail that are shown."""
FILTERS: Final = ("who", "act", "from", "to")


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of the history."""

    entry: HistoryEntry
    name: str
    """The name of the person; empty for a token and for the archive itself."""

    @property
    def detail(self) -> str:
        """What else is known of the act, in short."""
        facts: dict[str, Any] = msgspec.json.decode(self.entry.detail or "{}")
        text = ", ".join(f"{name}: {_written(value)}" for name, value in facts.items() if value)
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLogView:
    """A page of the history."""

    lines: list[LogLine]
    acts: list[str]
    """All acts that the history has."""
    filled: Mapping[str, str] = field(default_factory=dict)
    fault: str = ""
    older: str = ""
    """The path of the next page; empty on the last."""
    newest: str = ""
    """The path of the first page; empty on it."""


class AuditLogPages:
    """Handler of the page."""

    def __init__(self, site: AdminSite, catalogue: Catalogue) -> None:
        """Show the history of a catalogue."""
        self._site = site
        self._catalogue = catalogue

    async def audit_log(self, request: PageRequest) -> Response:
        """Show a page of lines, by person, act and date."""
        view = await asyncio.to_thread(self._view, request)
        status = HTTPStatus.BAD_REQUEST if view.fault else HTTPStatus.OK
        return self._site.page(request, "admin_audit_log.html", view, AUDIT_LOG, status)

    def _view(self, request: PageRequest) -> AuditLogView:
        given = request.query_params
        filled = {name: given[name].strip() for name in FILTERS if given.get(name, "").strip()}
        acts = [*self._catalogue.history.acts()]
        try:
            choice = _choice(filled)
        except ArchiveRequestError as error:
            fault = error.message()
            return AuditLogView(lines=[], acts=acts, filled=filled, fault=fault)
        after = int(given["after"]) if given.get("after", "").isdecimal() else 0
        found = self._catalogue.history.entries(
            min(after, 2**62), _SHOWN + 1, choice, newest_first=True
        )
        shown = found[:_SHOWN]
        names = self._names(shown)
        query = urlencode(filled)
        first = f"{AUDIT_LOG}?{query}" if query else AUDIT_LOG
        older = f"{AUDIT_LOG}?{urlencode({**filled, 'after': shown[-1].number})}" if shown else ""
        return AuditLogView(
            lines=[LogLine(entry, names.get(entry.who, "")) for entry in shown],
            acts=acts,
            filled=filled,
            older=older if len(found) > _SHOWN else "",
            newest=first if after else "",
        )

    def _names(self, entries: list[HistoryEntry]) -> dict[str, str]:
        """Return the names of the people among the actors."""
        found = {who: self._catalogue.accounts.get(owner_of(who)) for who in _people(entries)}
        return {who: account.full_name for who, account in found.items() if account is not None}


def _people(entries: list[HistoryEntry]) -> set[str]:
    return {entry.who for entry in entries if owner_of(entry.who)}


def _choice(filled: Mapping[str, str]) -> HistoryChoice:
    """Return which lines are wanted; a name of a person may be given without its mark."""
    since, before = span_in(filled)
    return HistoryChoice(
        act=filled.get("act", ""), who=filled.get("who", ""), since=since, before=before
    )


def _written(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
