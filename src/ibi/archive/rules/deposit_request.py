"""The request that opens a deposit: the JSON of the API, and its parsed form."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from ibi.archive.rules.access import networks
from ibi.archive.rules.adoption import Adoption, AdoptionRequest, read_adoption
from ibi.archive.rules.file_path import check_path
from ibi.errors import ArchiveRequestError, Sentence, shown
from ibi.identifier.label import Label, parse
from ibi.identifier.language import Language
from ibi.metadata.citability import check_citable
from ibi.metadata.json_record import new_record_from
from ibi.model.metadata_record import MetadataRecord
from ibi.wire.addresses import is_web_address

_PUBLISHER: Final = "the archive"
"""The publisher of items that name none: every archive has a name."""


class DepositRequest(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A deposit: a new item, or new files for an existing one if `item` is given."""

    metadata: dict[str, Any] = {}
    language: str = ""
    target: str = ""
    """The file that the label leads to; if there is none, index.html, or else the first file."""
    target_chosen: bool = True
    """Whether the depositor chose the target. If not, and there are several files, people who
    follow the label get the page of the item."""
    service: str = ""
    """The URL of a web service that the label leads to, instead of files."""
    list_public: bool = True
    readers: list[str] = []
    """Networks from which the files may be read; none means everywhere."""
    transferable: bool = True
    """Whether the Original may be transferred to another archive."""
    platform_software: str = ""
    """The label of the software that runs the item; empty for that of the archive."""
    label: str = ""
    """A label that was reserved for this item."""
    adoption: AdoptionRequest | None = None
    """The labels that the item had before it came here, which it keeps."""
    further_names: list[str] = []
    edition_of: str = ""
    translation_of: str = ""
    translated_from: str = ""
    """The language of the item that this one is a translation of; read from it if it is known."""
    collections: list[str] = []
    """Labels of collections of this archive to which the item is added."""
    unchecked: bool = False
    """Whether `edition_of` and `translation_of` may be labels of items that are not known."""
    citable: bool = False
    """Whether the deposit is refused if its record lacks what a citation needs: title, creator,
    year and type. The publisher is the archive, if the record names none."""
    item: str = ""
    remove: list[str] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class NewItem:
    """The parsed description of a new item."""

    record: MetadataRecord
    language: Language | None = None
    target: str = ""
    target_chosen: bool = True
    runs_at: str = ""
    list_public: bool = True
    readers: tuple[str, ...] = ()
    transferable: bool = True
    platform_software: Label | None = None
    label: Label | None = None
    adoption: Adoption | None = None
    further_names: tuple[Label, ...] = ()
    edition_of: Label | None = None
    translation_of: Label | None = None
    translated_from: Language | None = None
    collections: tuple[Label, ...] = ()
    unchecked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """New files for an existing item, and paths of files to remove."""

    item: Label
    target: str = ""
    target_chosen: bool = True
    removed: tuple[str, ...] = ()


def read(request: DepositRequest) -> NewItem | Revision:
    """Parse and check a request, so that errors are reported before any file is sent."""
    if request.item:
        return _revision(request)
    if request.remove:
        msg = Sentence("Only an item that is there can lose files: 'remove' goes with 'item'.")
        raise ArchiveRequestError(msg)
    if request.service and not is_web_address(request.service):
        msg = Sentence(
            "%(service)s is not the address of a web service: expected http(s).",
            service=shown(request.service),
        )
        raise ArchiveRequestError(msg)
    if request.service and (request.target or request.readers):
        msg = Sentence(
            "A web service that runs elsewhere has no files here: neither target nor readers."
        )
        raise ArchiveRequestError(msg)
    if request.translation_of and not request.language:
        msg = Sentence("A translation needs a language: say which.")
        raise ArchiveRequestError(msg)
    if request.label and request.adoption is not None:
        msg = Sentence(
            "A reserved label is one of this archive: an item that is adopted has its own."
        )
        raise ArchiveRequestError(msg)
    if request.translated_from and not request.translation_of:
        msg = Sentence(
            "Only a translation is translated from a language: say of which item it is one."
        )
        raise ArchiveRequestError(msg)
    record = new_record_from(request.metadata)
    if request.citable:
        check_citable(record, _PUBLISHER)
    return NewItem(
        record=record,
        language=Language.parse(request.language) if request.language else None,
        target=check_path(request.target) if request.target else "",
        target_chosen=request.target_chosen,
        runs_at=request.service,
        list_public=request.list_public,
        readers=networks(request.readers),
        transferable=request.transferable,
        platform_software=_label(request.platform_software),
        label=_label(request.label),
        adoption=None if request.adoption is None else read_adoption(request.adoption),
        further_names=tuple(
            dict.fromkeys(parse(name, strict=True) for name in request.further_names)
        ),
        edition_of=_label(request.edition_of),
        translation_of=_label(request.translation_of),
        translated_from=(
            Language.parse(request.translated_from) if request.translated_from else None
        ),
        collections=tuple(dict.fromkeys(map(parse, request.collections))),
        unchecked=request.unchecked,
    )


def _revision(request: DepositRequest) -> Revision:
    kept = DepositRequest(item=request.item, target=request.target, remove=request.remove)
    if request != kept:
        msg = Sentence(
            "With 'item' only files come, or go by 'remove', and 'target' may say which is the "
            "main one: the rest of a description is changed where the item is."
        )
        raise ArchiveRequestError(msg)
    return Revision(
        item=parse(request.item),
        target=check_path(request.target) if request.target else "",
        removed=tuple(dict.fromkeys(map(check_path, request.remove))),
    )


def _label(text: str) -> Label | None:
    return parse(text) if text else None


def target_of(wanted: str, paths: Iterable[str], *, is_chosen: bool = True) -> tuple[str, bool]:
    """Return the target file among the files of an item, and whether that is a choice.

    Every item with files has one (spec part 4): of several files without a choice, the first is it.
    """
    present = set(paths)
    if wanted:
        if wanted not in present:
            msg = Sentence(
                "The target file %(wanted)s is not among the files.", wanted=shown(wanted)
            )
            raise ArchiveRequestError(msg)
        return wanted, is_chosen or len(present) == 1
    if len(present) <= 1:
        return next(iter(present), ""), True
    if "index.html" in present:
        return "index.html", True
    return min(present), False
