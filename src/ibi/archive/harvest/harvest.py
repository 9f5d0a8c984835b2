"""The answers of an archive to harvesters, by OAI-PMH 2.0."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import quote, unquote

from lxml import etree

from ibi.archive.archive import Archive, ItemWithMetadata
from ibi.archive.item_list import described
from ibi.archive.ports.harvest import END_OF_TIME, HarvestPlace, HarvestRow
from ibi.archive.rules.harvest.document import (
    Answer,
    Body,
    Fault,
    FormatNote,
    Header,
    Part,
    Record,
    Repository,
    SetNote,
)
from ibi.archive.rules.harvest.publication import COLLECTION, FORMAT, value_of
from ibi.archive.rules.harvest.request import HarvestRequest
from ibi.archive.rules.harvest.resumption import Resumption, ResumptionTokens
from ibi.errors import HarvestError, LabelError, shown
from ibi.identifier.instant import Instant
from ibi.identifier.label import parse
from ibi.metadata.crosswalks.item_facts import ItemFacts
from ibi.metadata.formats import HARVESTED, Harvested
from ibi.model.clock import SECOND
from ibi.model.item import State
from ibi.model.metadata_record import MetadataRecord

# Guidelines for the oai-identifier format: namespace-identifier.
_DOMAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]*(?:\.[A-Za-z][A-Za-z0-9-]*)+")
_LOCAL: Final = "/:?@&=+$,;-_.!~*'()"
"""Characters of a label that stand in an identifier as they are."""
_HEADERS_A_RECORD: Final = 10
"""How many headers, or sets, a page has for each record of a page of records."""
_ROWS_AT_ONCE: Final = 1000
"""Rows of the log that are read at once where not all of a set are wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HarvestSettings:
    """How an archive presents itself to harvesters."""

    name: str
    address: str
    """The address at which requests are answered."""
    namespace: str
    """The middle of all identifiers."""
    administrator: str
    """An e-mail address; empty for the usual one of the host."""
    publisher: str
    """The publisher of items that name none."""
    page: int
    """Records of one page."""

    @property
    def mail(self) -> str:
        """The address that every repository must name."""
        if self.administrator:
            return self.administrator
        host = self.namespace if _DOMAIN.fullmatch(self.namespace) else "example.invalid"
        return f"postmaster@{host}"  # RFC 2142, 5


class Harvest:
    """Answers the requests of harvesters."""

    def __init__(
        self,
        archive: Archive,
        settings: HarvestSettings,
        secret: bytes,
        base: Callable[[], str],
    ) -> None:
        """Answer for an archive; `base` returns how persistent URLs begin."""
        self._archive = archive
        self._log = archive.catalogue.harvest
        self._items = archive.catalogue.items
        self._settings = settings
        self._tokens = ResumptionTokens(secret)
        self._base = base
        self._start = f"oai:{settings.namespace}:"

    def is_whole(self) -> bool:
        """Return whether the log has all items; until then no list would be complete."""
        return self._log.state().whole

    def answer(self, pairs: Sequence[tuple[str, str]]) -> Answer:
        """Return the answer to a request, which may be an error of the protocol."""
        # Taken before anything is read: what this answer does not show is dated later.
        now = self._archive.clock.wall() // SECOND
        answer = Answer(address=self._settings.address, now=now, body=())
        try:
            request = HarvestRequest.parse(pairs)
        except HarvestError as error:
            return replace(answer, body=Fault(error.code, error.reason))
        answer = replace(answer, verb=request.verb, arguments=request.arguments)
        try:
            return replace(answer, body=self._body(request))
        except HarvestError as error:
            return replace(answer, body=Fault(error.code, error.reason))

    def _body(self, request: HarvestRequest) -> Body:
        match request.verb:
            case "Identify":
                return self._identify()
            case "ListMetadataFormats":
                return self._list_formats(request)
            case "ListSets":
                return self._list_sets(request)
            case "GetRecord":
                return self._record(request)
            case _:
                return self._list(request)

    def _identify(self) -> Repository:
        settings = self._settings
        domain = settings.namespace if _DOMAIN.fullmatch(settings.namespace) else ""
        return Repository(
            name=settings.name,
            address=settings.address,
            administrator=settings.mail,
            earliest=self._log.earliest(),
            identifier=domain,
            sample=f"{self._start}8JMKD3MGP7W/3EPGUE5",
        )

    def _list_formats(self, request: HarvestRequest) -> tuple[FormatNote, ...]:
        row = self._row(request.identifier) if request.identifier else None
        if row is not None and row.deleted:
            raise HarvestError("noMetadataFormats", "The item was deleted.")
        return tuple(
            FormatNote(prefix, each.schema, each.namespace)
            for prefix, each in HARVESTED.items()
            if row is None or _is_for(prefix, row)
        )

    def _list_sets(self, request: HarvestRequest) -> Part:
        place = self._tokens.read(request) if request.token else Resumption(request=request)
        size = self._settings.page * _HEADERS_A_RECORD
        found = self._log.sets(place.last_set, size + 1)
        if not found:
            raise HarvestError("noSetHierarchy", "No item is in a set.")
        specs = found[:size]
        token = ""
        if len(found) > size:
            further = replace(place, sent=place.sent + len(specs), last_set=specs[-1])
            token = self._tokens.write(further)
        names = self._names([spec for spec in specs if spec.startswith(COLLECTION)])
        entries = tuple(SetNote(spec, names.get(spec) or value_of(spec)) for spec in specs)
        return Part(entries, token, place.sent)

    def _names(self, specs: Sequence[str]) -> dict[str, str]:
        """Return the titles of collections."""
        labels = {}
        for spec in specs:
            try:
                labels[spec] = parse(value_of(spec)).canonical
            except LabelError:
                continue
        found = self._items.find_all([*labels.values()])
        looks = {look.item.forms: look for look in described(self._archive, [*found.values()])}
        titles = {}
        for spec, label in labels.items():
            look = looks[found[label].item.forms] if label in found else None
            if look is not None and look.record is not None:
                titles[spec] = look.record.title.value
        return titles

    def _record(self, request: HarvestRequest) -> Record:
        format_ = _format(request.prefix)
        row = self._row(request.identifier)
        if not _is_for(request.prefix, row):
            raise HarvestError("cannotDisseminateFormat", "The format is not one for this item.")
        [record] = self._records([row], format_)
        return record

    def _row(self, identifier: str) -> HarvestRow:
        """Return the row of an item by its identifier, which has one spelling."""
        try:
            if identifier.startswith(self._start):
                label = parse(unquote(identifier.removeprefix(self._start)), strict=True)
                held = self._items.find(label.canonical)
                name = held.item.forms.label.canonical if held else label.canonical
                row = self._log.find(name)
                if row is not None and self._identifier(row) == identifier:
                    return row
        except LabelError:
            pass
        raise HarvestError("idDoesNotExist", f"There is no item {shown(identifier)}.")

    def _list(self, request: HarvestRequest) -> Part:
        """Return a part of a list of records or headers."""
        place = self._tokens.read(request) if request.token else None
        asked = request if place is None else place.request
        format_ = _format(asked.prefix)
        if place is None:
            place = Resumption(request=request, stamp=request.since, number=-1)
        is_short = request.verb == "ListIdentifiers"
        size = self._settings.page * (_HEADERS_A_RECORD if is_short else 1)
        after = HarvestPlace(place.stamp, place.number)
        rows = self._rows(after, asked.until, size + 1, asked)
        if not rows and request.token:
            # All that was left has changed since, and has a later date. A list has an end, so
            # one of these is sent, which the next harvest would get.
            rows = self._rows(after, END_OF_TIME, 1, asked)
        if not rows:
            raise HarvestError("noRecordsMatch", "No record matches the request.")
        sent = rows[:size]
        token = ""
        if len(rows) > size:
            last = sent[-1]
            token = self._tokens.write(
                replace(place, stamp=last.stamp, number=last.number, sent=place.sent + len(sent))
            )
        if is_short:
            return Part(tuple(map(self._header, sent)), token, place.sent)
        return Part(tuple(self._records(sent, format_)), token, place.sent)

    def _rows(
        self, after: HarvestPlace, until: int, size: int, asked: HarvestRequest
    ) -> list[HarvestRow]:
        """Return rows of the set that is asked for, of items that the format is for."""
        limit = FORMAT + asked.prefix if HARVESTED[asked.prefix].is_limited else ""
        if not asked.set_spec or not limit:
            return self._log.page(after, until, size, asked.set_spec or limit)
        found: list[HarvestRow] = []
        while len(found) < size:
            rows = self._log.page(after, until, _ROWS_AT_ONCE, asked.set_spec)
            found += (row for row in rows if limit in row.sets)
            if len(rows) < _ROWS_AT_ONCE:
                break
            after = rows[-1].place
        return found[:size]

    def _records(self, rows: Sequence[HarvestRow], format_: Harvested) -> list[Record]:
        found = self._items.find_all([row.label for row in rows if not row.deleted])
        looks = {
            look.item.forms.label.canonical: look
            for look in described(self._archive, [*found.values()])
        }
        return [self._written(row, looks.get(row.label), format_) for row in rows]

    def _written(
        self, row: HarvestRow, look: ItemWithMetadata | None, format_: Harvested
    ) -> Record:
        # An item that changed after its row was read has a later row, which says it again.
        if row.deleted or look is None or look.item.state is not State.ORIGINAL:
            return Record(replace(self._header(row), deleted=True))
        record = look.record or MetadataRecord(titles=())
        published = look.item.published(record, self._settings.publisher)
        return Record(self._header(row), self._element(look, published, format_))

    def _element(
        self, look: ItemWithMetadata, record: MetadataRecord, format_: Harvested
    ) -> etree._Element:
        item = look.item
        updated = look.metadata.item.updated if look.metadata else item.updated
        facts = ItemFacts(
            updated=Instant(updated // SECOND),
            archive=self._settings.publisher,
            restricted=bool(item.readers),
        )
        return format_.element(record, item.forms, self._base(), facts)

    def _header(self, row: HarvestRow) -> Header:
        return Header(self._identifier(row), row.stamp, row.sets, row.deleted)

    def _identifier(self, row: HarvestRow) -> str:
        return f"{self._start}{quote(row.name, safe=_LOCAL)}"


def _is_for(prefix: str, row: HarvestRow) -> bool:
    """Return whether a format is one for an item."""
    return not HARVESTED[prefix].is_limited or FORMAT + prefix in row.sets


def _format(prefix: str) -> Harvested:
    found = HARVESTED.get(prefix)
    if found is None:
        raise HarvestError("cannotDisseminateFormat", f"There is no format {shown(prefix)}.")
    return found
