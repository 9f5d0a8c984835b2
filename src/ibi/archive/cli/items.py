"""`ibi archive show`, `describe`, `edition`, `translation`, `delete`, `readers`: items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import click

from ibi.archive.cli.new_record import further_fields, further_options
from ibi.archive.cli.options import (
    archive_options,
    insisting,
    read_record,
    texts_by_language,
    texts_options,
    unchecked_option,
)
from ibi.archive.rules.access import networks as read_networks
from ibi.client.archive import RemoteArchive
from ibi.errors import ArchiveRequestError, printable
from ibi.foundation.cli.confirmation import confirm, yes_option
from ibi.foundation.cli.options import json_option, show
from ibi.identifier.language import Language
from ibi.metadata.dublin_core import elements
from ibi.metadata.json_record import record_from

_WIDTH = 18
_PAGE = 1000


def written(item: Mapping[str, Any]) -> str:
    """Return the text of an item, from the JSON of the API."""
    return "\n".join(
        f"{name:{_WIDTH - 1}} {_indented(text)}"
        for key, value in item.items()
        for name, text in _lines(key, value)
    )


def _indented(text: str) -> str:
    return f"\n{' ' * _WIDTH}".join(map(printable, text.split("\n")))


def _lines(name: str, value: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401  # JSON
    match name, value:
        case "record", dict():
            yield from _elements(value)
        case "translations", dict():
            for language, labels in value.items():
                yield f"translation {language}", _labels(labels)
        case "tombstone", dict():
            for inner, fact in value.items():
                yield from _lines("deleted by" if inner == "who" else inner, fact)
        case "holders", list():
            yield from map(_holder, value)
        case _, dict():
            yield name, _labels(value)
        case _, list():
            for each in value:
                yield from _lines(name, each)
        case _:
            yield name, ("no", "yes")[value] if isinstance(value, bool) else str(value)


def _elements(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, text in elements(record_from(record)):
        yield name, f"{text.value} ({text.language})" if text.language else text.value


def _holder(holder: Mapping[str, str]) -> tuple[str, str]:
    seen = f", last seen well {holder['seen']}" if "seen" in holder else ""
    return "held by", f"{holder['state']} at {holder['address']}{seen}"


def _labels(labels: Mapping[str, str]) -> str:
    return "  ".join(labels[form] for form in ("rep", "ibip") if form in labels)


def _item(ibi: str) -> str:
    """Return the path of an item in the API; any text stays one segment, and may be refused."""
    return f"items/{quote(ibi, safe='')}"


_LIST_EXAMPLES: Final = """\b
Examples:
  ibi archive list
  ibi archive list relatorio chuva --state Original --from 2026-11-01
  ibi archive list --reverse --limit 20
"""


@click.command("list", epilog=_LIST_EXAMPLES)
@click.argument("words", metavar="[WORD]...", nargs=-1)
@click.option("--kind", default="data", show_default=True, help="data, metadata or service.")
@click.option("--state", default="", help="Only Original, Copy or Deleted.")
@click.option("--from", "first", default="", metavar="DAY", help="Created then or later.")
@click.option("--to", "last_day", default="", metavar="DAY", help="Created then or earlier.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="A page of N items.")
@click.option("--after", default="0", metavar="NUMBER", help="The next page, as the last one says.")
@click.option("--reverse", is_flag=True, help="The newest first.")
@archive_options
@json_option
def list_items(  # noqa: PLR0913  # what is wanted, by name
    archive: RemoteArchive,
    words: tuple[str, ...],
    *,
    kind: str,
    state: str,
    first: str,
    last_day: str,
    limit: int | None,
    after: str,
    reverse: bool,
    as_json: bool,
) -> None:
    """List items, the oldest first: both labels, state, day of creation (UTC) and title.

    With WORDs, only items whose labels, titles, creators or other metadata have all of them, in
    capitals or not, with accents or without.
    """
    choice = {
        "kind": kind,
        "words": " ".join(words),
        "state": state.capitalize(),
        "from": first,
        "to": last_day,
        "order": "newest" if reverse else "",
    }
    query = {name: value for name, value in choice.items() if value}
    left = limit
    while after and left != 0:
        size = _PAGE if left is None else min(_PAGE, left)
        page = archive.ask("GET", "items", query={**query, "after": after, "limit": str(size)})
        for item in page["items"]:
            show(item, _listed(item), as_json=as_json)
        after = page["after"]
        left = None if left is None else left - len(page["items"])
    if after:
        click.echo(f"There may be more: continue with --after {after}.", err=True)


def _listed(item: Mapping[str, Any]) -> str:
    day = item["created"].partition("T")[0]
    title = printable(item.get("title", ""))
    return "\t".join((item["rep"], item["ibip"], item["state"], day, title)).rstrip()


@click.command("show")
@click.argument("ibi")
@archive_options
@json_option
def show_item(archive: RemoteArchive, ibi: str, *, as_json: bool) -> None:
    """Show the item IBI with its metadata.

    Example: ibi archive show IBI
    """
    item = archive.ask("GET", _item(ibi))
    show(item, written(item), as_json=as_json)


@click.command()
@click.argument("ibi")
@archive_options
@json_option
def files(archive: RemoteArchive, ibi: str, *, as_json: bool) -> None:
    """List the files of the item IBI with their checksums, as sha256sum does.

    Example: ibi archive files IBI
    """
    for file in archive.files(ibi):
        show(file, f"{file['sha256']}  {file['path']}", as_json=as_json)


_DESCRIBE_EXAMPLES = """\b
Examples:
  ibi archive describe IBI --title "A better title"
  ibi archive describe IBI --contributor Editor "Vilela, Renata" --funding CNPq 401234/2024-5
  ibi archive describe IBI --title-in pt "Um título" --keyword-in pt solo --keyword-in pt chuva
"""


@click.command(epilog=_DESCRIBE_EXAMPLES)
@click.argument("ibi")
@click.option("--metadata", "record", type=click.Path(path_type=Path), help="JSON, or oai_dc XML.")
@click.option("--title", help="A title; the rest of the record stays.")
@click.option("--description", help="An abstract; the rest of the record stays.")
@click.option("--keyword", "keywords", multiple=True, metavar="K", help="What it is about.")
@texts_options
@further_options
@click.option("--not-in", "dropped", multiple=True, metavar="xx[-XX]", help="Remove a language.")
@click.option("--language", metavar="xx[-XX]", help="The language of the item.")
@click.option("--target", metavar="FILE", help="The file that the label leads to.")
@click.option("--public-list/--private-list", default=None, help="Whether all may list its files.")
@click.option("--name", "names", multiple=True, metavar="IBI", help="A further name of the item.")
@click.option(
    "--platform-software",
    metavar="IBI",
    help="The software that runs the item; '' for that of the archive.",
)
@click.option(
    "--transferable/--not-transferable",
    default=None,
    help="Whether its Original may be transferred to another archive.",
)
@archive_options
@json_option
def describe(  # noqa: PLR0913  # one argument an option
    archive: RemoteArchive,
    ibi: str,
    *,
    record: Path | None,
    language: str | None,
    target: str | None,
    public_list: bool | None,
    names: tuple[str, ...],
    transferable: bool | None,
    platform_software: str | None,
    as_json: bool,
    **options: Any,  # noqa: ANN401  # the texts
) -> None:
    """Change the metadata of the item IBI, its target, its further names or its marks.

    Texts replace those that the metadata have in the same language; contributors, related
    identifiers and funding replace all that the metadata have of each.
    """
    changes: dict[str, Any] = {}
    if record is not None and options["title"] is not None:
        raise click.UsageError("A record has its own title: give --metadata or --title, not both.")
    if record is not None:
        changes["metadata"] = read_record(record)
    if further := further_fields(options):
        known = changes.get("metadata") or archive.ask("GET", f"{_item(ibi)}/metadata")
        others = {name: value for name, value in known.items() if f"{name}s" not in further}
        changes["metadata"] = others | further
    texts = _texts(options)
    if texts:
        changes["texts"] = texts
    given = {
        "language": language,
        "target": target,
        "list_public": public_list,
        "transferable": transferable,
        "platform_software": platform_software,
    }
    changes |= {name: value for name, value in given.items() if value is not None}
    if names:
        changes["further_names"] = list(names)
    if not changes:
        msg = "Nothing to change: give an option with the new value."
        raise ArchiveRequestError(msg)
    item = archive.ask("PATCH", _item(ibi), changes)
    show(item, written(item), as_json=as_json)


def _texts(options: Mapping[str, Any]) -> dict[str, dict[str, list[str]] | None]:
    """Return the texts to change by language; the main language has an empty name."""
    main: dict[str, list[str]] = {
        field: values
        for field, values in (
            ("titles", [] if options["title"] is None else [options["title"]]),
            ("descriptions", [] if options["description"] is None else [options["description"]]),
            ("subjects", list(options["keywords"])),
        )
        if values
    }
    further = texts_by_language(options)
    dropped = [str(Language.parse(code)) for code in options["dropped"]]
    for language in dropped:
        if language in further:
            raise click.UsageError(f"Texts in {language} are given and removed: say which.")
    return ({"": main} if main else {}) | further | dict.fromkeys(dropped)


@click.command()
@click.argument("ibi")
@click.argument("next_ibi", metavar="NEXT")
@unchecked_option
@archive_options
@json_option
def edition(
    archive: RemoteArchive, ibi: str, next_ibi: str, *, unchecked: bool, as_json: bool
) -> None:
    """Record that NEXT, held here or elsewhere, is the next edition of the item IBI.

    Example: ibi archive edition IBI NEXT
    """
    relation = {"next_edition": next_ibi}
    item = archive.ask("PATCH", _item(ibi), relation | insisting(unchecked=unchecked))
    show(item, written(item), as_json=as_json)


@click.command()
@click.argument("ibi")
@click.argument("language", metavar="xx[-XX]")
@click.argument("other")
@unchecked_option
@archive_options
@json_option
def translation(  # noqa: PLR0913  # one argument an option
    archive: RemoteArchive,
    ibi: str,
    language: str,
    other: str,
    *,
    unchecked: bool,
    as_json: bool,
) -> None:
    """Record that OTHER, held here or elsewhere, is the translation of the item IBI into LANGUAGE.

    Example: ibi archive translation IBI pt-BR OTHER
    """
    relation = {"translations": {language: other}}
    item = archive.ask("PATCH", _item(ibi), relation | insisting(unchecked=unchecked))
    show(item, written(item), as_json=as_json)


@click.command()
@click.argument("ibi")
@click.option("--reason", required=True, help="The reason, which readers see.")
@click.option("--replaced-by", default="", metavar="IBI", help="The item that replaces it.")
@click.option("--with-metadata", is_flag=True, help="Delete its metadata too.")
@yes_option
@archive_options
@json_option
def delete(  # noqa: PLR0913  # one argument an option
    archive: RemoteArchive,
    ibi: str,
    *,
    reason: str,
    replaced_by: str,
    with_metadata: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Delete the item IBI: its files are removed, its tombstone stays for ever.

    Example: ibi archive delete IBI --reason "Deposited twice" --replaced-by OTHER
    """
    item = archive.ask("GET", _item(ibi))
    confirm(f"Delete {item['rep'] or item['ibip']} for ever?", yes=yes)
    body = {"reason": reason, "replaced_by": replaced_by, "with_metadata": with_metadata}
    answer = archive.ask("POST", f"{_item(ibi)}/deletion", body)
    show(answer, f"deleted {answer['rep'] or answer['ibip']}", as_json=as_json)


@click.command("readers")
@click.argument("items", metavar="IBI...", nargs=-1, required=True)
@click.option("--network", "networks", multiple=True, metavar="N", help="10.0.0.0/8, 2001:db8::/32")
@click.option("--everybody", is_flag=True, help="Allow all networks.")
@archive_options
@json_option
def readers(
    archive: RemoteArchive,
    items: tuple[str, ...],
    *,
    networks: tuple[str, ...],
    everybody: bool,
    as_json: bool,
) -> None:
    """Set the networks from which the files of the items IBI... may be read.

    They replace all earlier networks of the items. The metadata of an item stay public.

    Example: ibi archive readers IBI --network 10.0.0.0/8 --network 2001:db8::/32
    """
    if bool(networks) == everybody:
        raise click.UsageError(
            "Say who may read them: --network N, as often as needed, or --everybody."
        )
    allowed = list(read_networks(networks))  # before the first item is changed
    for ibi in items:
        item = archive.ask("PATCH", f"items/{quote(ibi, safe='')}", {"readers": allowed})
        label = item["rep"] or item["ibip"]
        show(item, f"{label}\t{' '.join(item.get('readers', [])) or 'everybody'}", as_json=as_json)
