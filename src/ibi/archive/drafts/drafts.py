"""Drafts: what a depositor types and sends is kept at once, until it is published or discarded.

    open  ->  save, send files, in any order  ->  [submit  ->  return  ->  ...]  ->  publish

A draft has the reserved label of its item. Its files are those of an open deposit with the same id,
and completing the deposit publishes the draft: there is no moment at which one is done and the
other is not. Only the process that changes the archive uses this module, so that locks in memory
order what happens to one draft.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Lock
from typing import Final, Protocol
from weakref import WeakValueDictionary

import msgspec

from ibi.archive.archive import Archive, ItemWithMetadata
from ibi.archive.deposits.deposits import DAY, Deposits
from ibi.archive.drafts.quota import Quota
from ibi.archive.ports.drafts import DepositDraft, DraftComment, DraftPlace, DraftState
from ibi.archive.rules.deposit_request import DepositRequest
from ibi.archive.rules.drafts import draft as rules
from ibi.archive.rules.drafts.draft import DraftPurpose, Fields
from ibi.errors import (
    DraftConflictError,
    IbiError,
    InProgressError,
    Sentence,
    StateError,
    UnknownError,
)

MOST_DRAFTS: Final = 1_000
"""The largest number of unfinished drafts of one owner: each has a label of its own."""
_PATIENCE: Final = 10.0
"""Seconds for which a change waits while the draft is being published."""
_SWEPT: Final = 1_000
"""Drafts that one sweep discards."""
_ALL: Final = 2**31
_EDITABLE: Final = (DraftState.OPEN, DraftState.RETURNED)
_REVIEWED: Final = (DraftState.SUBMITTED, DraftState.RETURNED, DraftState.PUBLISHED)


class DescriptionForm(Protocol):
    """Reads the fields of the form of a description."""

    def known(self, fields: Fields) -> Fields:
        """Return the fields that are kept."""
        ...

    def title(self, fields: Fields) -> str:
        """Return the title for lists; empty if there is none yet."""
        ...

    def request(self, fields: Fields) -> DepositRequest:
        """Return the request of a deposit; raise DescriptionError with all faults."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftLimits:
    """The settings of drafts."""

    days: int = 0
    """Days after its last change after which a draft is discarded; 0 for never."""
    bytes_each: int = 0
    """Bytes of the files of all unfinished drafts of one owner; 0 for any number."""
    review: bool = False
    """Whether a curator publishes what depositors submit."""


class Drafts:
    """The drafts of one archive."""

    def __init__(
        self,
        archive: Archive,
        deposits: Deposits,
        form: DescriptionForm,
        limits: DraftLimits = DraftLimits(),  # noqa: B008  # it is frozen
        on_move: Callable[[DepositDraft, DraftState, str], None] = lambda *_: None,
    ) -> None:
        """Publish into an archive.

        `on_move` is called after a draft came into a state, with a comment if there is one.
        """
        self._archive = archive
        self._deposits = deposits
        self._form = form
        self.limits = limits
        self._on_move = on_move
        self._drafts = archive.catalogue.drafts
        self.quota = Quota(
            archive.store.staging,
            lambda owner: [each.id for each in self._drafts.of_owner(owner, None, _ALL)],
            limits.bytes_each,
        )
        self._locks: WeakValueDictionary[str, _DraftLock] = WeakValueDictionary()
        self._locking = Lock()

    def open(
        self,
        owner: str,
        key: str = "",
        purpose: DraftPurpose = DraftPurpose(),  # noqa: B008  # it is frozen
        fields: Fields = (),
    ) -> DepositDraft:
        """Open a draft under a reserved label; a key that was used before gives the same draft."""
        id_ = rules.draft_id(key or uuid.uuid4().hex)
        if self._drafts.get(id_) is not None:
            return self.get(id_, owner)
        if self._drafts.count(owner) >= MOST_DRAFTS:
            msg = Sentence(
                "You have %(most)s drafts: publish or discard some of them first.",
                most=MOST_DRAFTS,
            )
            raise StateError(msg)
        fields = self._form.known(fields)
        text = rules.written(fields)
        self._deposits.check_purpose(purpose)
        reserved = None if purpose.item else self._archive.reserve(1, owner, id_)[0].forms
        now = self._archive.clock.wall()
        draft = DepositDraft(
            id=id_,
            owner=owner,
            forms=reserved,
            purpose=msgspec.json.encode(purpose).decode(),
            fields=text,
            title=self._title(fields),
            state=DraftState.OPEN,
            version=0,
            opened=now,
            changed=now,
        )
        self._drafts.open(draft)
        return self.get(id_, owner)

    def get(self, id: str, owner: str) -> DepositDraft:  # noqa: A002  # what it is called everywhere
        """Return a draft of an owner in any state; to others it does not exist."""
        self._archive.settle()  # its publication may be decided and not yet in the catalogue
        draft = self._drafts.get(id)
        if draft is None or draft.owner != owner:
            raise UnknownError("draft", id)
        return draft

    def reviewed(self, id: str) -> DepositDraft:  # noqa: A002
        """Return a draft that was submitted, for a curator."""
        self._archive.settle()
        draft = self._drafts.get(id)
        if draft is None or draft.state not in _REVIEWED:
            raise UnknownError("draft", id)
        return draft

    def comments(self, draft: DepositDraft) -> list[DraftComment]:
        """Return the comments on a draft, the oldest first."""
        return self._drafts.comments(draft.id)

    def unfinished(self, owner: str, after: DraftPlace | None, limit: int) -> list[DepositDraft]:
        """Return the unfinished drafts of an owner, those that changed last first."""
        return self._drafts.of_owner(owner, after, limit)

    def published(self, owner: str, after: DraftPlace | None, limit: int) -> list[DepositDraft]:
        """Return the published drafts of an owner, those that changed last first."""
        return self._drafts.published_by(owner, after, limit)

    def submitted(self, after: DraftPlace | None, limit: int) -> list[DepositDraft]:
        """Return the drafts that wait for a curator."""
        return self._drafts.submitted(after, limit)

    def save(self, id: str, owner: str, version: int, fields: Fields) -> DepositDraft:  # noqa: A002
        """Replace the fields that were shown in a version.

        Raises DraftConflictError if they were changed since. The same fields saved again, by a
        client that got no answer, are no conflict.
        """
        fields = self._form.known(fields)
        text = rules.written(fields)
        with self._locked(id):
            draft = self.editable(id, owner)
            if draft.fields == text:
                return draft
            if draft.version != version:
                raise DraftConflictError(id, draft.version)
            now = self._archive.clock.wall()
            self._drafts.save(id, version, text, self._title(fields), now)
            return self.get(id, owner)

    def _title(self, fields: Fields) -> str:
        return self._form.title(fields)[: rules.LONGEST_TITLE]

    def check(self, draft: DepositDraft) -> DepositRequest:
        """Return the request of its deposit; DescriptionError if its description has faults."""
        purpose = rules.purpose_of(draft.purpose)
        if purpose.item:
            fields = rules.read(draft.fields)
            return DepositRequest(
                item=purpose.item,
                target=next(iter(rules.values(fields, rules.TARGET)), ""),
                remove=rules.values(fields, rules.REMOVED),
            )
        request = self._form.request(rules.read(draft.fields))
        return rules.completed(request, purpose, str(draft.forms.label if draft.forms else ""))

    def discard(self, id: str, owner: str) -> None:  # noqa: A002
        """Discard a draft with its files; its label is never given to another item."""
        with self._locked(id):
            draft = self.get(id, owner)
            if draft.state is DraftState.DISCARDED:
                return
            self._discard(draft, owner)

    def _discard(self, draft: DepositDraft, who: str) -> None:
        staging = self._archive.store.staging
        with self._archive.changing(), staging.sealed(draft.id):
            self._move(draft, DraftState.DISCARDED, (*_EDITABLE, DraftState.SUBMITTED), who)
            self._archive.store.discard(draft.id)
        self.quota.forget(draft.owner)

    def submit(self, id: str, owner: str, version: int | None = None) -> DepositDraft:  # noqa: A002
        """Submit a draft for review, if it could be published as it is."""
        with self._locked(id):
            draft = self.get(id, owner)
            if draft.state is DraftState.SUBMITTED:
                return draft
            with self._archive.store.staging.sealed(id):
                self._check_whole(draft, version)
                self._move(draft, DraftState.SUBMITTED, _EDITABLE, owner)
            return self.get(id, owner)

    def withdraw(self, id: str, owner: str) -> DepositDraft:  # noqa: A002
        """Take back a draft that was submitted, to change it."""
        with self._locked(id):
            draft = self.get(id, owner)
            if draft.state is DraftState.SUBMITTED:
                self._move(draft, DraftState.OPEN, (DraftState.SUBMITTED,), owner)
            return self.get(id, owner)

    def send_back(self, id: str, curator: str, comment: str) -> DepositDraft:  # noqa: A002
        """Return a submitted draft to its owner with a comment."""
        comment = rules.check_comment(comment)
        with self._locked(id):
            draft = self.reviewed(id)
            before = (DraftState.SUBMITTED,)
            self._move(draft, DraftState.RETURNED, before, curator, comment)
            return self.reviewed(id)

    def publish(self, id: str, owner: str, version: int | None = None) -> ItemWithMetadata:  # noqa: A002
        """Publish a draft of an owner; repeated, return the same item."""
        with self._locked(id, wait=True):
            draft = self.get(id, owner)
            if self.limits.review and draft.is_unfinished:
                msg = Sentence("A curator publishes what is deposited here: submit the draft.")
                raise StateError(msg)
            return self._publish(draft, owner, version)

    def approve(self, id: str, curator: str, version: int | None = None) -> ItemWithMetadata:  # noqa: A002
        """Publish a draft that was submitted; repeated, return the same item."""
        with self._locked(id, wait=True):
            draft = self.reviewed(id)
            if draft.state is DraftState.RETURNED:
                raise StateError(Sentence("This draft was returned to its depositor."))
            return self._publish(draft, curator, version)

    def _publish(self, draft: DepositDraft, who: str, version: int | None) -> ItemWithMetadata:
        if draft.item:
            return self._archive.get_described(draft.item)
        self._check_whole(draft, version)
        self._deposits.revise(draft.id, self.check(draft))
        detail = {"depositor": draft.owner} if who != draft.owner else None
        look = self._deposits.complete(draft.id, who, detail=detail)
        self.quota.forget(draft.owner)
        self._on_move(draft, DraftState.PUBLISHED, "")
        return look

    def _check_whole(self, draft: DepositDraft, version: int | None) -> None:
        """Raise if a draft cannot be published as it is."""
        if draft.state is DraftState.DISCARDED:
            raise StateError(Sentence("This draft was discarded."))
        if version not in {None, draft.version}:
            raise DraftConflictError(draft.id, draft.version)
        self.check(draft)
        self._deposits.check_whole(draft.id)

    def _move(
        self,
        draft: DepositDraft,
        state: DraftState,
        before: tuple[DraftState, ...],
        who: str,
        comment: str = "",
    ) -> None:
        now = self._archive.clock.wall()
        if not self._drafts.move(draft.id, state, before, DraftComment(now, who, comment)):
            raise _unfit(self._drafts.get(draft.id) or draft)
        label = str(draft.forms or "")
        self._archive.note(f"draft {state}", who, {"draft": draft.id, "label": label})
        self._on_move(draft, state, comment)

    def editable(self, id: str, owner: str) -> DepositDraft:  # noqa: A002
        """Return a draft of an owner; raise StateError if it cannot be changed."""
        draft = self.get(id, owner)
        if draft.state not in _EDITABLE:
            raise _unfit(draft)
        return draft

    def sweep(self) -> None:
        """Discard drafts that were not changed for as long as the settings say."""
        if not self.limits.days:
            return
        before = self._archive.clock.wall() - self.limits.days * DAY
        for draft in self._drafts.unchanged_since(before, _SWEPT):
            with suppress(IbiError), self._locked(draft.id):
                found = self._drafts.get(draft.id)
                if found is not None and found.changed == draft.changed:
                    self._discard(draft, "sweep")

    @contextmanager
    def _locked(self, id: str, *, wait: bool = False) -> Iterator[None]:  # noqa: A002
        """Order what is done to a draft; a publication is waited for, as it may take long."""
        with self._locking:
            found = self._locks.get(id)
            if found is None:
                found = self._locks[id] = _DraftLock()
        if not found.lock.acquire(timeout=-1 if wait else _PATIENCE):
            raise InProgressError(Sentence("This draft is being published."))
        try:
            yield
        finally:
            found.lock.release()


class _DraftLock:
    """The lock of one draft, which exists while it is used."""

    __slots__ = ("__weakref__", "lock")

    def __init__(self) -> None:
        self.lock = Lock()


def _unfit(draft: DepositDraft) -> StateError:
    """Return why a draft cannot be changed in its state."""
    match draft.state:
        case DraftState.PUBLISHED:
            return StateError(Sentence("This draft is published: %(item)s.", item=draft.item))
        case DraftState.DISCARDED:
            return StateError(Sentence("This draft was discarded."))
        case DraftState.SUBMITTED:
            return StateError(
                Sentence("This draft waits for a curator: take it back to change it.")
            )
        case _:
            return StateError(Sentence("This draft is not submitted."))
