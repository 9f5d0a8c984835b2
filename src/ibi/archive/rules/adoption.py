"""Adoption: an item that had its labels before it came to this archive keeps them.

An archive may adopt labels of its own host or address, and those of prefixes in its settings; their
instants must be past. Whether another archive has the item, and whether the ledger may still issue
a label, is asked elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import msgspec

from ibi.errors import ArchiveRequestError, LabelError, Sentence, StateError, shown
from ibi.identifier.ibip import Ibip
from ibi.identifier.instant import Instant
from ibi.identifier.label import Label, parse
from ibi.identifier.repository_name import RepositoryName
from ibi.model.label_pair import Forms

MOST_LABELS: Final = 2
"""The most labels of an item: a repository name, and an IBIp or a legacy label."""
_SUFFIXES: Final = ("2009/02.16.17.46", "34PGRBS", "SskcB")
"""Any suffix of each form, by which a prefix alone is read as a label."""

_Key: TypeAlias = tuple[str, str, int | None]


class AdoptionRequest(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The labels that an item had before it came here."""

    labels: list[str]
    """A repository name, an IBIp or a legacy label, or one of each form."""
    metadata_labels: list[str] = []
    """Those of its metadata; new ones are minted if there are none."""
    offline: bool = False
    """Whether the linked resolvers are not asked; the history says so."""


@dataclass(frozen=True, slots=True)
class Adoption:
    """The parsed labels of an item that is adopted."""

    forms: Forms
    metadata: Forms | None = None
    offline: bool = False

    @property
    def labels(self) -> tuple[Label, ...]:
        """All labels that are adopted."""
        return (*self.forms, *(self.metadata or ()))


def read_adoption(request: AdoptionRequest) -> Adoption:
    """Parse the labels of an item that is adopted."""
    forms = _forms(request.labels)
    metadata = _forms(request.metadata_labels) if request.metadata_labels else None
    if metadata is not None and metadata.names(forms):
        msg = Sentence("An item and its metadata have labels of their own: one is given for both.")
        raise ArchiveRequestError(msg)
    return Adoption(forms, metadata, request.offline)


def _forms(texts: Sequence[str]) -> Forms:
    labels = [parse(text) for text in texts]
    are_names = [isinstance(label, RepositoryName) for label in labels]
    if not 1 <= len(labels) <= MOST_LABELS or len(set(are_names)) != len(labels):
        msg = Sentence(
            "An item has one label, or one of each form: a repository name, and an IBIp or a "
            "legacy label. Others are further names."
        )
        raise ArchiveRequestError(msg)
    return Forms.of(*labels)


class AdoptablePrefixes:
    """The prefixes whose labels an archive may adopt."""

    def __init__(self, own: Iterable[str], named: Iterable[str]) -> None:
        """Allow the prefixes of the archive itself, and those that its settings name.

        Raises ArchiveRequestError if one is no prefix of labels.
        """
        self._keys = {_key_of_prefix(prefix) for prefix in (*own, *named)}

    def check(self, label: Label, now: Instant) -> None:
        """Raise if a label may not be adopted."""
        if not self._keys.intersection(_keys(label)):
            prefix = label.spelling.removesuffix(_suffix(label))
            msg = Sentence(
                "%(label)s may not be adopted: its prefix is neither that of this archive nor "
                "among `adopts` in its settings. If the archive of this prefix moves in here, add "
                "%(prefix)s there, and restart the archive.",
                label=label,
                prefix=shown(prefix),
            )
            raise StateError(msg)
        if label.instant >= now:
            msg = Sentence("%(label)s may not be adopted: its instant is not past.", label=label)
            raise StateError(msg)


def _key_of_prefix(text: str) -> _Key:
    for suffix in _SUFFIXES:
        try:
            return _keys(parse(f"{text}/{suffix}", strict=True))[0]
        except LabelError:
            continue
    msg = Sentence(
        "%(text)s is not the prefix of a label: expected what stands before the year or the last "
        "slash, such as sid.inpe.br/mtc-m19 or 8JMKD3MGP7W.",
        text=shown(text),
    )
    raise ArchiveRequestError(msg)


def _keys(label: Label) -> list[_Key]:
    """Return the keys of a label's prefix: its own, and what a legacy label encodes."""
    match label:
        case RepositoryName(host=host, port=port):
            return [("host", host, port)]
        case Ibip(ip=ip, port=port):
            return [("address", ip, port)]
    keys: list[_Key] = [("legacy", label.spelling.partition("/")[0], None)]
    if label.host is not None:
        keys.append(("host", label.host, label.port))
    return keys


def _suffix(label: Label) -> str:
    """Return the part of a label after its prefix, with the slash before it."""
    parts = label.spelling.rsplit("/", 2 if isinstance(label, RepositoryName) else 1)
    return "".join(f"/{part}" for part in parts[1:])
