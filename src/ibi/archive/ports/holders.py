"""Protocol of the search for an item among other archives, and its values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from ibi.identifier.label import Label
from ibi.identifier.language import Language
from ibi.model.metadata_record import MetadataRecord

HeldAs: TypeAlias = Literal["Original", "Copy", "restricted", "deleted"]
"""How an archive has an item; `restricted` if it says so only to some readers."""


@dataclass(frozen=True, slots=True)
class Holder:
    """Another archive that has an item, or has its tombstone."""

    service: str
    """The label of its archive service."""
    address: str
    """Its URL."""
    state: HeldAs


@dataclass(frozen=True, slots=True)
class Finding:
    """What the linked resolvers know of a label."""

    holders: tuple[Holder, ...] = ()
    asked: tuple[str, ...] = ()
    """The addresses of the resolvers that were asked."""
    doubts: tuple[str, ...] = ()
    """Why a resolver cannot say that no archive has the item, one text for each resolver."""


class HolderFinder(Protocol):
    """Asks the linked resolvers which other archives have an item."""

    def find(self, label: Label) -> Finding:
        """Return what they know; raise TooManyRequestsError if a resolver wants to wait."""
        ...

    def language(self, label: Label, address: str) -> Language | None:
        """Return the language of an item of another archive; None if that is not known."""
        ...

    def record(self, label: Label, address: str) -> MetadataRecord | None:
        """Return the metadata of an item of another archive; None if they are not known."""
        ...


class NoResolvers:
    """The finder of an archive that is linked to no resolver."""

    def find(self, label: Label) -> Finding:  # noqa: ARG002  # the protocol has it
        """Return that nothing is known."""
        return Finding()

    def language(self, label: Label, address: str) -> Language | None:  # noqa: ARG002
        """Return that no language is known."""
        return None

    def record(self, label: Label, address: str) -> MetadataRecord | None:  # noqa: ARG002
        """Return that no metadata are known."""
        return None
