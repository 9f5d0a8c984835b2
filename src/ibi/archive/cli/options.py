"""Options that commands of an archive share: its address or folder, a token, texts, labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeVar

import click
import msgspec

from ibi.archive.settings import ARCHIVE_FILE
from ibi.client.archive import RemoteArchive
from ibi.errors import ArchiveRequestError, LabelError, MetadataError, printable, shown
from ibi.foundation.cli.program import Program
from ibi.foundation.system.instance_lock import is_held
from ibi.identifier.description import LabelWarning
from ibi.identifier.label import parse
from ibi.identifier.language import Language
from ibi.metadata.crosswalks import oai_dc
from ibi.metadata.json_record import record_as_dict

F = TypeVar("F", bound=Callable[..., Any])

_TEXT_FIELDS: Final = {
    "titles_in": "titles",
    "descriptions_in": "descriptions",
    "keywords_in": "subjects",
}


def read_record(path: Path) -> dict[str, Any]:
    """Return the record in a file as plain values; its suffix tells whether it is XML or JSON."""
    content = content_of(path)
    try:
        if path.suffix.lower() == ".xml":
            return record_as_dict(oai_dc.read(content))
        return msgspec.json.decode(content, type=dict[str, Any])
    except MetadataError as fault:
        msg = f"{shown(str(path))} cannot be read: {fault}"
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as fault:
        reason = printable(str(fault))
        msg = f"{shown(str(path))} cannot be read as a record in JSON: {reason}."
    raise ArchiveRequestError(msg)


def texts_options(command: F) -> F:
    """Add the options of texts in further languages; the command gets them by name."""
    for name, help_ in (
        ("keyword", "A keyword in another language; repeatable."),
        ("description", "An abstract in another language."),
        ("title", "A title in another language: pt, pt-BR."),
    ):
        option = click.option(
            f"--{name}-in",
            f"{name}s_in",
            type=(str, str),
            multiple=True,
            metavar="xx[-XX] TEXT",
            help=help_,
        )
        command = option(command)
    return command


def texts_by_language(options: Mapping[str, Any]) -> dict[str, dict[str, list[str]]]:
    """Return the texts that the options of `texts_options` give, by language and field."""
    texts: dict[str, dict[str, list[str]]] = {}
    for option, field in _TEXT_FIELDS.items():
        for code, text in options[option]:
            fields = texts.setdefault(str(Language.parse(code)), {})
            fields.setdefault(field, []).append(text)
    return texts


def content_of(path: Path) -> bytes:
    """Return the content of a file; ArchiveRequestError if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as failure:
        reason = (failure.strerror or "").lower()
        msg = f"{shown(str(path))} cannot be read: {reason}."
        raise ArchiveRequestError(msg) from None


ARCHIVE: Final = Program("archive", ARCHIVE_FILE, RemoteArchive)
archive_options = ARCHIVE.options
folder_of = ARCHIVE.folder_of
folder_option = ARCHIVE.folder_option


def original_option(command: F) -> F:
    """Add --original-is-gone."""
    return click.option(
        "--original-is-gone",
        is_flag=True,
        help="Of a restored archive: state that no other instance of it will ever mint again.",
    )(command)


def archive_or_folder_options(command: F) -> F:
    """Add the same options; the command gets the folder if the archive is not running."""
    return ARCHIVE.options_for(_archive_or_folder, command)


def _archive_or_folder(
    folder: Path | None, address: str | None, token: str | None
) -> RemoteArchive | Path:
    place = folder_of(folder)
    is_elsewhere = ARCHIVE.is_elsewhere(folder, address)
    if is_elsewhere or not (place / ARCHIVE_FILE).exists() or is_held(place):
        return ARCHIVE.connect(folder, address, token)
    return place


unchecked_option: Final = click.option(
    "--unchecked", is_flag=True, help="Accept an item to be related to that is not known."
)


def insisting(*, unchecked: bool) -> dict[str, bool]:
    """Return the part of a request by which related items need not be known."""
    return {"unchecked": True} if unchecked else {}


def adopted(
    labels: Sequence[str], metadata_labels: Sequence[str], *, offline: bool
) -> dict[str, Any]:
    """Return the part of a request by which an item keeps the labels that it had before."""
    adoption = {"labels": list(labels), "metadata_labels": list(metadata_labels)}
    return {"adoption": {**adoption, "offline": offline}}


def warn_of_instants(*pairs: Sequence[str]) -> None:
    """Warn of labels that are given for one item and were not made at one instant.

    That is usually a slip of the pen, and labels are for ever; but real pairs of that kind exist.
    """
    for pair in pairs:
        with suppress(LabelError):  # the archive says what is wrong with a label
            labels = [parse(text) for text in pair]
            if len({label.instant for label in labels}) > 1:
                names = " and ".join(map(str, labels))
                why = LabelWarning.INSTANTS_DIFFER.sentence
                click.echo(f"Warning: {names} for one item: {why}.", err=True)
