"""`ibi archive deposit` and `revise`: bring files into an archive."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from http import HTTPStatus
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final

import click

from ibi.archive.cli.new_record import described, record_options
from ibi.archive.cli.options import (
    adopted,
    archive_options,
    insisting,
    unchecked_option,
    warn_of_instants,
)
from ibi.archive.rules.file_path import check_path
from ibi.client.archive import RemoteArchive
from ibi.errors import ArchiveError, ArchiveRefusedError, ArchiveRequestError, shown
from ibi.foundation.cli.options import is_terminal, json_option, show
from ibi.foundation.cli.progress import Progress, shown_progress

_LOOK: Final = 0.5
"""Seconds between two requests for the state of a deposit that is being completed."""
_PACKED = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")


def _file_arguments(command: Callable[..., None]) -> Callable[..., None]:
    command = click.argument("files", nargs=-1, type=click.Path(path_type=Path))(command)
    return click.option("--unpack", is_flag=True, help="Unpack zip and tar files.")(command)


_RELAYED = (
    *("language", "service", "edition_of", "translation_of", "translated_from"),
    *("platform_software", "collections"),
)
"""Options that are fields of the request, under the same name."""
_EXAMPLES = """\b
Examples:
  ibi archive deposit report.pdf --title "A report" --creator "Banon, G." --date 2026 --type Text
  ibi archive deposit data.csv --from CITATION.cff --language en
  ibi archive deposit relatorio.pdf --from-item IBI --title "Um relatório" --translation-of IBI
  ibi archive deposit old.pdf --title "From 2009" --label sid.inpe.br/mtc-m18/2009/02.16.17.46
"""


@click.command(epilog=_EXAMPLES)
@_file_arguments
@record_options
@click.option("--target", default="", metavar="FILE", help="The file that the label leads to.")
@click.option("--service", default="", metavar="URL", help="A web service, in place of files.")
@click.option(
    "--label",
    "labels",
    multiple=True,
    metavar="IBI",
    help="A label reserved for the item, or one that it had before; twice for both forms.",
)
@click.option(
    "--metadata-label",
    "metadata_labels",
    multiple=True,
    metavar="IBI",
    help="A label that its metadata had before.",
)
@click.option("--offline", is_flag=True, help="Do not ask resolvers who else has these labels.")
@click.option("--name", "names", multiple=True, metavar="IBI", help="A further name of the item.")
@click.option("--edition-of", default="", metavar="IBI", help="Make it the next edition of IBI.")
@click.option("--translation-of", default="", metavar="IBI", help="Make it a translation of IBI.")
@click.option("--translated-from", default="", metavar="xx[-XX]", help="The language of that item.")
@click.option("--collection", "collections", multiple=True, metavar="IBI", help="Add it to IBI.")
@unchecked_option
@click.option("--private-list", is_flag=True, help="Do not show the list of files.")
@click.option(
    "--network", "networks", multiple=True, metavar="N", help="A network that may read the files."
)
@click.option(
    "--platform-software", default="", metavar="IBI", help="The software that runs the item."
)
@click.option("--not-transferable", is_flag=True, help="Keep the Original in this archive.")
@archive_options
@json_option
def deposit(  # noqa: PLR0913  # one argument an option
    archive: RemoteArchive,
    files: tuple[Path, ...],
    *,
    unpack: bool,
    target: str,
    names: tuple[str, ...],
    private_list: bool,
    networks: tuple[str, ...],
    labels: tuple[str, ...],
    metadata_labels: tuple[str, ...],
    offline: bool,
    not_transferable: bool,
    unchecked: bool,
    as_json: bool,
    **options: Any,  # noqa: ANN401  # the rest of a description
) -> None:
    """Deposit FILES as a new item: files or folders, none for an item that is not digital.

    Of a single folder, the content is deposited; among others, a folder keeps its name. Title,
    creator, date and type are asked for, so that the item can be cited; scripts are warned.
    """
    sources = sources_of(files)
    choices = _labelled(labels, metadata_labels, offline=offline)
    wanted = {
        "metadata": described(archive, options, adopts=bool(labels)),
        **targeted(target_in(target, sources), {} if unpack else sources, files),
        "further_names": list(names),
        "list_public": not private_list,
        "readers": list(networks),
        **({"transferable": False} if not_transferable else {}),
        **insisting(unchecked=unchecked),
        **{name: options[name] for name in _RELAYED},
    }
    warn_of_instants(labels, metadata_labels)
    answer = send(archive, wanted, sources, choices, unpack=unpack)
    facts = _facts(archive, answer) if as_json else {}
    show(facts, f"{answer['rep']}\t{answer['ibip']}", as_json=as_json)


def _labelled(
    labels: Sequence[str], metadata_labels: Sequence[str], *, offline: bool
) -> list[dict[str, Any]]:
    """Return what is asked of the archive, in order, until it knows the label.

    A single label may be one that the archive has reserved, or one that the item brings along.
    """
    if not labels:
        if metadata_labels or offline:
            msg = "Only an item that comes with a --label brings labels of metadata along."
            raise click.UsageError(msg)
        return [{}]
    brought = adopted(labels, metadata_labels, offline=offline)
    is_simple = len(labels) == 1 and not metadata_labels and not offline
    return [{"label": labels[0]}, brought] if is_simple else [brought]


def _opened(
    archive: RemoteArchive, kept: dict[str, Any], choices: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Open a deposit by the first choice whose label the archive knows."""
    unknown: ArchiveRefusedError | None = None
    for choice in choices:
        try:
            # A deposit whose answer is lost has no files, and is removed in a week.
            opened: dict[str, Any] = archive.insist("POST", "deposits", kept | choice)
        except ArchiveRefusedError as refusal:
            if unknown is not None and refusal.status == HTTPStatus.FORBIDDEN:
                break  # the token is not for adoptions, and was not meant to be
            if refusal.status != HTTPStatus.NOT_FOUND:
                raise
            unknown = refusal
        else:
            return opened
    assert unknown is not None  # noqa: S101  # there is a choice
    raise unknown


def _facts(archive: RemoteArchive, answer: dict[str, Any]) -> dict[str, Any]:
    label = answer["rep"] or answer["ibip"]
    metadata = answer.get("metadata", {})
    return {
        "rep": answer["rep"],
        "ibip": answer["ibip"],
        "persistent_url": answer["persistent_url"],
        "metadata": {form: metadata.get(form, "") for form in ("rep", "ibip")},
        "files": [file["path"] for file in archive.files(label)],
    }


@click.command()
@click.argument("ibi")
@_file_arguments
@click.option("--remove", "removed", multiple=True, metavar="PATH", help="A file to remove.")
@click.option("--target", default="", metavar="FILE", help="The file the label will lead to.")
@archive_options
@json_option
def revise(  # noqa: PLR0913  # one argument an option
    archive: RemoteArchive,
    ibi: str,
    files: tuple[Path, ...],
    *,
    unpack: bool,
    removed: tuple[str, ...],
    target: str,
    as_json: bool,
) -> None:
    """Add FILES to the item IBI, or replace its files of the same names.

    Example: ibi archive revise IBI report.pdf --remove draft.pdf
    """
    sources = sources_of(files)
    wanted = {"item": ibi, "remove": list(removed), "target": target_in(target, sources)}
    answer = send(archive, wanted, sources, unpack=unpack)
    show(answer, f"{answer['rep']}\t{answer['ibip']}", as_json=as_json)


def send(
    archive: RemoteArchive,
    wanted: dict[str, Any],
    sources: dict[str, Path],
    choices: Sequence[dict[str, Any]] = ({},),
    *,
    unpack: bool,
) -> dict[str, Any]:
    """Open a deposit, send its files and complete it; cancel it if that fails."""
    kept = {name: value for name, value in wanted.items() if value not in ("", [], {})}
    id_ = str(_opened(archive, kept, choices)["id"])
    try:
        with shown_progress() as progress:
            _send_files(archive, id_, sources, progress, unpack=unpack)
            total = sum(source.stat().st_size for source in sources.values())
            with _storing(archive, id_, total, progress):
                return _completed(archive, id_)
    except BaseException:
        if not _was_completed(archive, id_):
            raise
    # The deposit was completed: only the answer was lost.
    return _completed(archive, id_)


def _completed(archive: RemoteArchive, id_: str) -> dict[str, Any]:
    answer: dict[str, Any] = archive.insist("POST", f"deposits/{id_}/completion")
    return answer


def _was_completed(archive: RemoteArchive, id_: str) -> bool:
    """Cancel a deposit, unless it was completed; return whether it was."""
    try:
        archive.ask("DELETE", f"deposits/{id_}")
    except ArchiveRefusedError:
        # It was completed, or the archive still waits for the rest of a file.
        with suppress(ArchiveError):
            if archive.ask("GET", f"deposits/{id_}").get("completed"):
                return True
        click.echo(f"The deposit {id_} is left open; the archive removes it in a week.", err=True)
    except ArchiveError:
        text = f"If the deposit {id_} was completed, 'ibi archive history' shows it."
        click.echo(text, err=True)
    return False


def _send_files(
    archive: RemoteArchive, id_: str, sources: dict[str, Path], progress: Progress, *, unpack: bool
) -> None:
    sizes = {path: source.stat().st_size for path, source in sources.items()}
    total, before = sum(sizes.values()), 0
    for path, source in sources.items():
        archive.send_file(id_, path, source, _sending(before, total, progress))
        before += sizes[path]
        if unpack and path.lower().endswith(_PACKED):
            progress(f"Unpacking {path[-40:]}", 0, 0)
            archive.ask("POST", f"deposits/{id_}/unpacking", {"path": path})


def _sending(before: int, total: int, progress: Progress) -> Callable[[int], None]:
    """Return a function that shows the bytes sent of a file, after so many of other files."""
    return lambda sent: progress("Sending", before + sent, total)


@contextmanager
def _storing(archive: RemoteArchive, id_: str, total: int, progress: Progress) -> Iterator[None]:
    """Show how much of a deposit the archive has stored, while it is completed."""
    progress("Storing", 0, 0)
    ended = Event()

    def follow() -> None:
        while not ended.wait(_LOOK):
            with suppress(ArchiveError):
                stored = archive.ask("GET", f"deposits/{id_}").get("stored", 0)
                if stored:
                    progress("Storing", stored, max(stored, total))

    follower = Thread(target=follow, name="storing", daemon=True)
    if is_terminal():
        follower.start()
    try:
        yield
    finally:
        ended.set()
        if follower.is_alive():
            follower.join()


def sources_of(files: Sequence[Path]) -> dict[str, Path]:
    """Return the files to send, by their paths in the item; raise if one does not exist."""
    sources: dict[str, Path] = {}
    for given in files:
        if given.is_dir():
            folder = Path(os.path.abspath(given))  # noqa: PTH100  # "." has a name, links stay
            root = folder if len(files) == 1 else folder.parent
            for source in _within(folder):
                _take(sources, source.relative_to(root).as_posix(), source)
        elif given.is_file():
            _take(sources, given.name, given)
        else:
            msg = f"There is no file {shown(str(given))}."
            raise ArchiveRequestError(msg)
    return sources


def _within(folder: Path) -> list[Path]:
    """Return all files in a folder and its subfolders; raise if one cannot be read."""
    found: list[Path] = []
    for place, folders, names in os.walk(folder, onerror=_unreadable):
        inner = [Path(place, name) for name in names]
        for each in (*inner, *(Path(place, name) for name in folders)):
            if each.is_symlink() or not (each.is_file() or each.is_dir()):
                msg = f"{shown(str(each))} is no file: links and devices are not deposited."
                raise ArchiveRequestError(msg)
        found += inner
    if not found:
        msg = f"There are no files in {shown(str(folder))}."
        raise ArchiveRequestError(msg)
    return sorted(found)


def _unreadable(failure: OSError) -> None:
    msg = f"{shown(str(failure.filename))} cannot be read: {failure.strerror}."
    raise ArchiveRequestError(msg)


def _take(sources: dict[str, Path], path: str, source: Path) -> None:
    path = check_path(path)
    if path in sources:
        msg = f"{shown(path)} is given twice."
        raise ArchiveRequestError(msg)
    sources[path] = source


def target_in(target: str, sources: dict[str, Path]) -> str:
    """Return the path of the target in the item; it may be given as a local path."""
    if not target or target in sources:
        return target
    here = os.path.abspath(target)  # noqa: PTH100  # links stay
    found = (path for path, source in sources.items() if os.path.abspath(source) == here)  # noqa: PTH100
    return next(found, target)


def targeted(target: str, sources: dict[str, Path], files: Sequence[Path]) -> dict[str, Any]:
    """Return the fields of the target: the chosen one, or of several files the one named first."""
    if not target and len(sources) > 1 and "index.html" not in sources and files[0].is_file():
        return {"target": next(iter(sources)), "target_chosen": False}
    return {"target": target}
