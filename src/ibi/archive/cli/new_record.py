"""The record of a new item: of options, of a file, of another item, or asked for at a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar, cast
from urllib.parse import quote

import click

from ibi.archive.cli.options import content_of, read_record, texts_by_language, texts_options
from ibi.client.archive import RemoteArchive
from ibi.errors import ArchiveRequestError, MetadataError, shown
from ibi.metadata.citability import missing_for_citation
from ibi.metadata.json_record import catalogued, record_as_dict, unfinished_record_from
from ibi.metadata.readers.formats import FORMATS, read_metadata
from ibi.metadata.related import scheme_of
from ibi.metadata.vocabulary import check_in_list
from ibi.model.metadata_record import UNKNOWN

F = TypeVar("F", bound=Callable[..., Any])

_FORMATS: Final = ", ".join(each.title for each in FORMATS.values())
_PUBLISHER: Final = "the archive"
"""The publisher of items that name none: every archive has a name."""
_OPTIONS: Final[Mapping[str, str]] = {
    "title": "--title",
    "creator": "--creator NAME (or --creator-unknown)",
    "year": "--date",
    "type": "--type",
}
"""The option that gives each field that a citation needs."""
_QUESTIONS: Final[Mapping[str, tuple[str, str, str]]] = {
    "title": ("titles", "Title", ""),
    "creator": ("creators", 'Creator, as "Family, Given"; empty if unknown', UNKNOWN),
    "year": ("dates", "Year of publication", ""),
    "type": ("types", "Type, as Text, Dataset or Image", ""),
}
"""The element, the question, and what an empty answer means, of each of these fields."""


def further_options(command: F) -> F:
    """Add the options of contributors, related identifiers and funding."""
    options = (
        click.option(
            "--contributor",
            "contributors",
            type=(str, str),
            multiple=True,
            metavar="ROLE NAME",
            help="As Editor, Translator, DataCurator.",
        ),
        click.option(
            "--related",
            type=(str, str),
            multiple=True,
            metavar="RELATION ID",
            help="As IsSupplementTo 10.1234/abc: a DOI, a label, an address ...",
        ),
        click.option(
            "--funding", type=(str, str), multiple=True, metavar="FUNDER AWARD", help="Who paid."
        ),
    )
    described_by: Any = command
    for option in reversed(options):
        described_by = option(described_by)
    return cast("F", described_by)


def further_fields(options: dict[str, Any]) -> dict[str, list[dict[str, str]]]:
    """Take these options out of all options; return the fields of a record that they give."""
    given = {
        "contributors": [_contributor(*each) for each in options.pop("contributors")],
        "related": [_related(*each) for each in options.pop("related")],
        "funding": [_funding(*each) for each in options.pop("funding")],
    }
    return {name: values for name, values in given.items() if values}


def record_options(command: F) -> F:
    """Add the options that describe a new item."""
    options: tuple[Callable[[Any], Any], ...] = (
        click.option("--title", help="The title; needed unless a file has one."),
        click.option(
            "--creator", "creators", multiple=True, metavar="NAME", help='As "Family, Given".'
        ),
        click.option("--creator-unknown", is_flag=True, help="State that no creator is known."),
        click.option("--language", default="", metavar="xx[-XX]", help="As pt, pt-BR."),
        click.option(
            "--date", "dates", multiple=True, metavar="D", help="As 2026, 2026-11 or 2026-11-15."
        ),
        click.option(
            "--type", "types", multiple=True, metavar="T", help="What it is: Text, Dataset ..."
        ),
        click.option("--publisher", help="The archive, if left out."),
        click.option("--description", help="An abstract."),
        click.option("--keyword", "keywords", multiple=True, metavar="K", help="What it is about."),
        texts_options,
        click.option("--licence", help="An SPDX identifier, as CC-BY-4.0, or a URL."),
        further_options,
        click.option(
            "--metadata",
            "record",
            type=click.Path(path_type=Path),
            help="A record: JSON, or oai_dc XML.",
        ),
        click.option(
            "--from",
            "source",
            type=click.Path(path_type=Path),
            help=f"A file that describes it: {_FORMATS}. Options replace what it says.",
        ),
        click.option(
            "--from-item", metavar="IBI", help="Take the metadata of another item. As --from."
        ),
    )
    described_by: Any = command
    for option in reversed(options):
        described_by = option(described_by)
    return cast("F", described_by)


def described(archive: RemoteArchive, options: dict[str, Any], *, adopts: bool) -> dict[str, Any]:
    """Take the options of a record out of all options; return the record as plain values.

    An item that is adopted, which has its labels already, need not be fit for citation.
    """
    metadata = _source(archive, options)
    for name, given in _given(options):
        if given:
            metadata.pop(name.removesuffix("s"), None)
            metadata[name] = given
    for language, texts in texts_by_language(options).items():
        for name, values in texts.items():
            tagged = [{"value": value, "language": language} for value in values]
            metadata[name] = [*_listed(metadata, name), *tagged]
    return metadata if adopts else _complete(metadata)


def _source(archive: RemoteArchive, options: dict[str, Any]) -> dict[str, Any]:
    record, source, item = (options.pop(name) for name in ("record", "source", "from_item"))
    if sum(each is not None for each in (record, source, item)) > 1:
        raise click.UsageError("Give one of --metadata, --from and --from-item.")
    if record is not None:
        return read_record(record)
    if item is not None:
        path = f"metadata-readings?label={quote(item, safe='')}"
        answer = archive.ask("POST", path)
        _warn(answer["doubts"])
        found: dict[str, Any] = answer["record"]
        return found
    return {} if source is None else _read(source)


def _read(source: Path) -> dict[str, Any]:
    """Return what a file of another program describes, and warn of what is uncertain."""
    try:
        reading = read_metadata(content_of(source))
    except MetadataError as fault:
        msg = f"{shown(str(source))} cannot be read: {fault}"
        raise ArchiveRequestError(msg) from None
    _warn(reading.doubts)
    return record_as_dict(reading.record)


def _warn(doubts: Any) -> None:  # noqa: ANN401  # texts
    for doubt in doubts:
        click.echo(f"Warning: {doubt}", err=True)


def _given(options: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return what options say of each element."""
    take = options.pop
    creators = list(take("creators"))
    if take("creator_unknown"):
        if creators:
            raise click.UsageError("A creator is named or unknown: give --creator or the other.")
        creators = [UNKNOWN]
    title, description, publisher = take("title"), take("description"), take("publisher")
    return [
        ("titles", [title] if title else []),
        ("creators", creators),
        ("dates", list(take("dates"))),
        ("types", list(take("types"))),
        ("publishers", [publisher] if publisher else []),
        ("descriptions", [description] if description else []),
        ("subjects", list(take("keywords"))),
        ("languages", [options["language"]] if options["language"] else []),
        ("licence", take("licence") or ""),
        *further_fields(options).items(),
    ]


def _contributor(role: str, name: str) -> dict[str, str]:
    agent = catalogued(name)
    if agent is None:
        raise click.UsageError(f"The contributor with the role {shown(role)} has no name.")
    parts = {"name": agent.name, "family": agent.family, "given": agent.given}
    known = parts | {"orcid": agent.orcid, "role": check_in_list("role", role)}
    return {part: text for part, text in known.items() if text}


def _related(relation: str, text: str) -> dict[str, str]:
    scheme, identifier = scheme_of(text)
    if not scheme:
        msg = f"{shown(text)} is no identifier that is known: give a DOI, a label or an address."
        raise click.UsageError(msg)
    return {"relation": relation, "scheme": scheme, "identifier": identifier}


def _funding(funder: str, award: str) -> dict[str, str]:
    return {"funder": funder, **({"award": award} if award else {})}


def _listed(metadata: dict[str, Any], name: str) -> list[Any]:
    """Take a field out of a record, by either of its names, as a list."""
    given = [metadata.pop(each) for each in (name.removesuffix("s"), name) if each in metadata]
    return [
        value for values in given for value in (values if isinstance(values, list) else [values])
    ]


# --- what a citation needs ------------------------------------------------------------------------


def _complete(metadata: dict[str, Any]) -> dict[str, Any]:
    """Ask for what a citation lacks; without a terminal, warn with the options that give it.

    Without a title nothing is deposited.
    """
    missing = missing_for_citation(unfinished_record_from(metadata), _PUBLISHER)
    if not missing:
        return metadata
    if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr)):
        options = ", ".join(_OPTIONS[field] for field in missing)
        if "title" in missing:
            msg = f"An item needs these to be cited, and they are missing: {options}."
            raise ArchiveRequestError(msg)
        click.echo(f"Without {options} the item cannot be cited completely.", err=True)
        return metadata
    for field in missing:
        element, question, empty = _QUESTIONS[field]
        default = "" if empty else None  # without a default, the question is asked again
        answer = click.prompt(question, default=default, show_default=False, err=True).strip()
        metadata[element] = [answer or empty]
    return metadata
