"""`ibi archive cite`: cites an item, or writes it for a reference manager."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

import click

from ibi.archive.cli.options import archive_options
from ibi.client.archive import RemoteArchive
from ibi.errors import ArchiveRequestError, printable
from ibi.foundation.cli.options import json_option, show

_STYLES: Final = ("abnt", "apa", "chicago", "ieee", "vancouver")
_FORMATS: Final = ("bibtex", "ris", "csl")
_EXAMPLES: Final = """\b
Examples:
  ibi archive cite 8JMKD3MGP7W/3EPGUE5
  ibi archive cite 8JMKD3MGP7W/3EPGUE5 --style abnt --locale pt-BR
  ibi archive cite 8JMKD3MGP7W/3EPGUE5 --format bibtex >> references.bib
"""


@click.command(epilog=_EXAMPLES)
@click.argument("ibi")
@click.option("--style", type=click.Choice(_STYLES), help="Only in this style; all if left out.")
@click.option("--locale", default="", metavar="xx[-XX]", help="The language of its words: pt-BR.")
@click.option(
    "--format", "format_", type=click.Choice(_FORMATS), help="For a reference manager, instead."
)
@archive_options
@json_option
def cite(  # noqa: PLR0913  # what is wanted, by name
    archive: RemoteArchive,
    ibi: str,
    *,
    style: str | None,
    locale: str,
    format_: str | None,
    as_json: bool,
) -> None:
    """Cite an item in the styles that journals ask for, or as BibTeX, RIS or CSL-JSON.

    Citations are plain text: bold and italics are left out. --json has them as HTML too.
    """
    item = f"items/{quote(ibi, safe='')}"
    if format_:
        if style or locale or as_json:
            raise ArchiveRequestError("--format takes no --style, --locale or --json.")
        click.echo(archive.read(f"{item}/metadata", {"format": format_}), nl=False)
        return
    query = {"style": style or "", "locale": locale}
    answer = archive.ask(
        "GET", f"{item}/citation", query={name: value for name, value in query.items() if value}
    )
    show(answer, _written(answer["citations"], alone=bool(style)), as_json=as_json)


def _written(citations: list[dict[str, str]], *, alone: bool) -> str:
    """Return the citations as text, each after the name of its style if there are several."""
    texts = [printable(each["text"]) for each in citations]
    if alone:
        return "\n".join(texts)
    names = (each["name"] for each in citations)
    return "\n\n".join(f"{name}\n  {text}" for name, text in zip(names, texts, strict=True))
