"""Protocols of the storage of drafts, and their values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol

from ibi.model.label_pair import Forms


class DraftState(StrEnum):
    """The state of a draft."""

    OPEN = "open"
    SUBMITTED = "submitted"
    """It waits for a curator, and its owner cannot change it."""
    RETURNED = "returned"
    """A curator returned it with a comment; its owner may change it."""
    PUBLISHED = "published"
    DISCARDED = "discarded"


@dataclass(frozen=True, slots=True, kw_only=True)
class DepositDraft:
    """A deposit in the making: a description as it was typed, and the files of an open deposit."""

    id: str
    """The id of its deposit."""
    owner: str
    """The name of the caller that opened it, and that alone may change it."""
    forms: Forms | None
    """The labels that are reserved for its item; None if its item exists."""
    purpose: str
    """What becomes of it, as JSON (`rules.drafts.draft.DraftPurpose`)."""
    fields: str
    """The fields of its form as they were typed, as JSON."""
    title: str
    """The title for lists; empty if there is none yet."""
    state: DraftState
    version: int
    """The number of changes of its fields so far."""
    opened: int
    changed: int
    item: str = ""
    """The label of its item, once it is published."""

    @property
    def is_unfinished(self) -> bool:
        """Whether it is neither published nor discarded."""
        return self.state not in {DraftState.PUBLISHED, DraftState.DISCARDED}


@dataclass(frozen=True, slots=True)
class DraftComment:
    """A comment on a draft."""

    at: int
    who: str
    text: str


class DraftPlace(NamedTuple):
    """A place in a list of drafts, after which the next page begins."""

    changed: int
    id: str


@dataclass(frozen=True, slots=True)
class PublishedDraft:
    """A published draft, and the state of its item; empty if the item is not here any more."""

    draft: DepositDraft
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedChoice:
    """Which published drafts are wanted; an empty text does not restrict them."""

    owner: str
    words: str = ""
    """A part of the title or of the label."""
    state: str = ""
    order: str = "newest"
    """newest, oldest, or title."""


class DraftStore(Protocol):
    """Stores drafts. A draft is published as soon as its deposit is completed."""

    def open(self, draft: DepositDraft) -> bool:
        """Store a new draft and its open deposit; return False if the id is taken."""
        ...

    def get(self, id: str) -> DepositDraft | None:  # noqa: A002  # what it is called everywhere
        """Return a draft in any state; None if there is none."""
        ...

    def with_label(self, name: str) -> str:
        """Return the id of the draft for which a canonical label was reserved; empty if none."""
        ...

    def save(  # what is saved
        self,
        id: str,  # noqa: A002
        version: int,
        fields: str,
        title: str,
        at: int,
    ) -> bool:
        """Replace the fields; return False if the version is another, or it cannot be changed."""
        ...

    def touch(self, id: str, at: int) -> None:  # noqa: A002
        """Record a change of its files."""
        ...

    def move(
        self,
        id: str,  # noqa: A002
        state: DraftState,
        before: tuple[DraftState, ...],
        comment: DraftComment,
    ) -> bool:
        """Change the state of an unfinished draft from one of some others, and add a comment.

        A comment without text is not stored. Returns False, and changes nothing, if the draft is in
        another state. A discarded draft loses its fields, its title and its deposit.
        """
        ...

    def comments(self, id: str) -> list[DraftComment]:  # noqa: A002
        """Return the comments on a draft, the oldest first."""
        ...

    def of_owner(self, owner: str, after: DraftPlace | None, limit: int) -> list[DepositDraft]:
        """Return the unfinished drafts of an owner, those that changed last first."""
        ...

    def published_by(self, owner: str, after: DraftPlace | None, limit: int) -> list[DepositDraft]:
        """Return the published drafts of an owner, those that changed last first."""
        ...

    def published(self, choice: PublishedChoice, skip: int, limit: int) -> list[PublishedDraft]:
        """Return published drafts, without those of new files for an item."""
        ...

    def submitted(self, after: DraftPlace | None, limit: int) -> list[DepositDraft]:
        """Return the drafts that wait for a curator, those that changed last first."""
        ...

    def count(self, owner: str) -> int:
        """Return the number of unfinished drafts of an owner."""
        ...

    def unchanged_since(self, before: int, limit: int) -> list[DepositDraft]:
        """Return open and returned drafts that were last changed before a time."""
        ...
