"""`ibi archive adopt`: bring items into an archive under the labels that they had before."""

from __future__ import annotations

import csv
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import quote

import click
import msgspec

from ibi.archive.cli.deposit import send, sources_of, targeted
from ibi.archive.cli.options import (
    adopted,
    archive_options,
    insisting,
    unchecked_option,
    warn_of_instants,
)
from ibi.client.archive import RemoteArchive
from ibi.errors import (
    ArchiveError,
    ArchiveRefusedError,
    ArchiveRequestError,
    ArchiveUnreachableError,
    LabelError,
    printable,
    shown,
)
from ibi.foundation.cli.options import json_lines_option, show
from ibi.identifier.label import Label, parse

_JSON_LINES: Final = (".jsonl", ".ndjson", ".json")
_LISTS: Final = ("files", "creators", "dates", "types", "subjects", "names")
"""Columns with several values, which a semicolon separates."""
_PAUSE: Final = 5.0
"""Seconds to wait while a resolver or the archive wants to be asked less often."""
_ATTEMPTS: Final = 60

_Fault: TypeAlias = tuple[int, str]
"""The number of a line, and what is wrong with it."""
Outcome: TypeAlias = Literal["adopted", "here", "possible", "refused"]


class Row(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """An item of the table."""

    rep: str = ""
    ibip: str = ""
    metadata_rep: str = ""
    metadata_ibip: str = ""
    files: list[str] = []
    """Files and folders, relative to the folder of the table."""
    target: str = ""
    title: str = ""
    creators: list[str] = []
    language: str = ""
    dates: list[str] = []
    types: list[str] = []
    subjects: list[str] = []
    description: str = ""
    licence: str = ""
    names: list[str] = []
    """Further names."""
    edition_of: str = ""
    translation_of: str = ""
    service: str = ""
    metadata: dict[str, Any] = {}
    """A record, in JSON lines only; the other fields take precedence."""

    @property
    def labels(self) -> list[str]:
        """The labels of the item."""
        return [label for label in (self.rep, self.ibip) if label]

    @property
    def metadata_labels(self) -> list[str]:
        """The labels of its metadata."""
        return [label for label in (self.metadata_rep, self.metadata_ibip) if label]


_EXAMPLES = """\b
Examples:
  ibi archive adopt items.csv --dry-run
  ibi archive adopt items.jsonl
"""


@click.command(epilog=_EXAMPLES)
@click.argument("table", type=click.Path(path_type=Path))
@click.option("--offline", is_flag=True, help="Do not ask resolvers who else has these labels.")
@click.option("--dry-run", is_flag=True, help="Check all items, and adopt none.")
@unchecked_option
@archive_options
@json_lines_option
def adopt(  # noqa: PLR0913  # one argument an option
    archive: RemoteArchive,
    table: Path,
    *,
    offline: bool,
    dry_run: bool,
    unchecked: bool,
    as_json: bool,
) -> None:
    """Adopt the items of TABLE: each keeps the labels that it had in another archive.

    TABLE is CSV, TSV or JSON lines. Its columns are rep, ibip, metadata_rep, metadata_ibip,
    files, target, title, creators, language, dates, types, subjects, description, licence, names,
    edition_of, translation_of and service; a semicolon separates several values. Items that are
    here already are left as they are, so that the command can be repeated.
    """
    rows = _read(table)
    counts: dict[str, int] = {}
    possible: set[Label] = set()
    options = insisting(unchecked=unchecked)
    for each in _in_order(rows):
        row = _without_relations(each, possible)
        wanted = options | adopted(row.labels, row.metadata_labels, offline=offline)
        warn_of_instants(row.labels, row.metadata_labels)
        outcome, detail = _adopt(archive, row, table.parent, wanted, dry_run=dry_run)
        counts[outcome] = counts.get(outcome, 0) + 1
        if outcome == "possible":
            possible.update(map(parse, row.labels))
        label = row.labels[0]
        fact = {"label": label, "outcome": outcome, "detail": detail}
        show(fact, "\t".join(filter(None, (outcome, label, detail))), as_json=as_json)
    text = ", ".join(f"{outcome} {count}" for outcome, count in counts.items())
    click.echo(text or "The table has no items.", err=True)
    if counts.get("refused"):
        raise click.exceptions.Exit(1)


def _adopt(
    archive: RemoteArchive, row: Row, folder: Path, options: dict[str, Any], *, dry_run: bool
) -> tuple[Outcome, str]:
    """Adopt one item; return the outcome, and why it is refused."""
    for _ in range(_ATTEMPTS):
        try:
            if _is_here(archive, row):
                return "here", ""
            wanted, sources = _request(row, folder)
            wanted |= options
            if dry_run:
                opened = archive.ask("POST", "deposits", wanted)
                archive.ask("DELETE", f"deposits/{opened['id']}")
                return "possible", ""
            send(archive, wanted, sources, unpack=False)
        except ArchiveRefusedError as refusal:
            if refusal.status != HTTPStatus.TOO_MANY_REQUESTS:
                return "refused", str(refusal)
            last = refusal
            time.sleep(_PAUSE)
        except ArchiveUnreachableError:
            raise
        except ArchiveError as fault:
            return "refused", str(fault)
        else:
            return "adopted", ""
    return "refused", str(last)


def _is_here(archive: RemoteArchive, row: Row) -> bool:
    """Return whether the archive has the item as its Original, under all these labels."""
    try:
        item = archive.ask("GET", f"items/{quote(row.labels[0], safe='')}")
    except ArchiveRefusedError as refusal:
        if refusal.status == HTTPStatus.NOT_FOUND:
            return False
        raise
    own = {parse(item[form]) for form in ("rep", "ibip") if item[form]}
    return item["state"] == "Original" and own == {parse(label) for label in row.labels}


def _request(row: Row, folder: Path) -> tuple[dict[str, Any], dict[str, Path]]:
    """Return the description of an item, and its files by their paths in the item."""
    files = [folder / file for file in row.files]
    sources = sources_of(files)
    given = {
        "titles": [row.title] if row.title else [],
        "creators": row.creators,
        "dates": row.dates,
        "types": row.types,
        "subjects": row.subjects,
        "descriptions": [row.description] if row.description else [],
        "languages": [row.language] if row.language else [],
        "licence": row.licence,
    }
    metadata = row.metadata | {name: value for name, value in given.items() if value}
    wanted = {
        "metadata": metadata,
        "further_names": row.names,
        "language": row.language,
        "service": row.service,
        "edition_of": row.edition_of,
        "translation_of": row.translation_of,
    }
    target = targeted(row.target, sources, files)
    return {name: value for name, value in wanted.items() if value} | target, sources


def _in_order(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield the items so that an edition or translation follows the item that it belongs to."""
    waiting = list(rows)
    missing = {parse(label) for row in rows for label in row.labels}
    while waiting:
        ready = [row for row in waiting if not missing.intersection(_related(row))]
        ready = ready or waiting[:1]  # items that belong to each other in a circle
        for row in ready:
            yield row
            missing.difference_update(map(parse, row.labels))
        done = set(map(id, ready))
        waiting = [row for row in waiting if id(row) not in done]


def _without_relations(row: Row, labels: Collection[Label]) -> Row:
    """Return the item without its relations to items that a dry run found possible before."""
    known = {
        each for each in (row.edition_of, row.translation_of) if each and parse(each) in labels
    }
    return msgspec.structs.replace(
        row,
        edition_of="" if row.edition_of in known else row.edition_of,
        translation_of="" if row.translation_of in known else row.translation_of,
    )


def _related(row: Row) -> list[Label]:
    return [parse(label) for label in (row.edition_of, row.translation_of) if label]


def _read(table: Path) -> list[Row]:
    """Return the items of a table; raise before any is adopted if one of them is not valid."""
    rows: list[tuple[int, Row]] = []
    faults: list[_Fault] = []
    try:
        with table.open(encoding="utf-8-sig", newline="") as file:
            is_json = table.suffix.lower() in _JSON_LINES
            read = _json_rows(file) if is_json else _csv_rows(file, table.suffix.lower())
            for number, row in read:
                if isinstance(row, Row):
                    rows.append((number, row))
                else:
                    faults.append((number, row))
    except OSError as failure:
        reason = (failure.strerror or "").lower()
        raise ArchiveRequestError(f"{shown(str(table))} cannot be read: {reason}.") from None
    except UnicodeDecodeError:
        raise ArchiveRequestError(f"{shown(str(table))} is not a text in UTF-8.") from None
    faults += _faults(rows, table.parent)
    if faults:
        raise _refusal(sorted(faults))
    return [row for _, row in rows]


def _json_rows(lines: Iterable[str]) -> Iterator[tuple[int, Row | str]]:
    """Yield the number of each line, and its item or the fault in it."""
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield number, msgspec.json.decode(line, type=Row)
            except (msgspec.MsgspecError, RecursionError) as fault:
                yield number, printable(str(fault))


def _csv_rows(lines: Iterable[str], suffix: str) -> Iterator[tuple[int, Row | str]]:
    """Yield the number of each line, and its item or the fault in it."""
    reader = csv.DictReader(lines, delimiter="\t" if suffix in {".tsv", ".tab"} else ",")
    try:
        for cells in reader:
            yield reader.line_num, _row_of(cells)
    except csv.Error as fault:
        yield reader.line_num, printable(str(fault))


def _row_of(cells: dict[str | Any, str | Any]) -> Row | str:
    if None in cells or None in cells.values():
        return "it has more or fewer cells than the first line"
    given = {
        name: [part.strip() for part in text.split(";") if part.strip()]
        if name in _LISTS
        else text.strip()
        for name, text in cells.items()
        if text.strip()
    }
    try:
        return msgspec.convert(given, type=Row)
    except msgspec.MsgspecError as fault:
        return printable(str(fault))


def _faults(rows: Sequence[tuple[int, Row]], folder: Path) -> Iterator[_Fault]:
    """Yield lines whose labels are missing, wrong or given before, or whose files are missing."""
    seen: dict[Label, int] = {}
    for number, row in rows:
        if not row.labels:
            yield number, "an item that is adopted has a label, in the column rep or ibip"
            continue
        if not row.title and not {"title", "titles"} & row.metadata.keys():
            yield number, "the item has no title"
        try:
            labels = [parse(label) for label in (*row.labels, *row.metadata_labels)]
            _related(row)
            sources_of([folder / file for file in row.files])
        except (LabelError, ArchiveRequestError) as fault:
            yield number, str(fault).rstrip(".")
            continue
        for label in labels:
            if label in seen:
                yield number, f"{label} stands in line {seen[label]} already"
            seen.setdefault(label, number)


def _refusal(faults: Sequence[_Fault]) -> ArchiveRequestError:
    """Return the error for a table; if it has several faults, they are printed one by one."""
    lines = [f"Line {number} of the table: {reason}." for number, reason in faults]
    if len(lines) == 1:
        return ArchiveRequestError(f"{lines[0]} Nothing was adopted.")
    for line in lines:
        click.echo(line, err=True)
    return ArchiveRequestError(f"The table has {len(lines)} faults. Nothing was adopted.")
