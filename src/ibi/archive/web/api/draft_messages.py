"""The messages of the API about drafts, and the conversion of drafts to them."""

from __future__ import annotations

import msgspec

from ibi.archive.ports.drafts import DepositDraft, DraftComment, DraftPlace
from ibi.archive.rules.drafts import draft as rules
from ibi.archive.rules.drafts.draft import DraftPurpose, Fields
from ibi.archive.web.api.messages import StagedAnswer
from ibi.archive.web.api.responses import moment, pair
from ibi.errors import RequestError, Sentence, shown


class NewDraftRequest(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A new draft; a repeated request with the same key gives the same draft."""

    key: str = ""
    """32 hexadecimal digits, chosen at random."""
    fields: Fields = ()
    """Pairs of field and text, as the form has them."""
    edition_of: str = ""
    """The label of the item whose next edition it becomes."""
    translation_of: str = ""
    """The label of the item whose translation it becomes."""
    item: str = ""
    """The label of an item whose files it replaces."""

    @property
    def purpose(self) -> DraftPurpose:
        """What becomes of the draft."""
        return DraftPurpose(self.edition_of, self.translation_of, self.item)


class DraftRequest(msgspec.Struct, forbid_unknown_fields=True):
    """All fields of a draft, and the version in which they were shown."""

    version: int
    fields: Fields


class DraftActRequest(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """An act on a draft; with a version it is refused if the draft was changed since."""

    version: int | None = None


class ReturnRequest(msgspec.Struct, forbid_unknown_fields=True):
    """The return of a draft to its owner."""

    comment: str


class CommentAnswer(msgspec.Struct, frozen=True):
    """A comment of a curator."""

    at: str
    who: str
    text: str


class DraftAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """A draft."""

    id: str
    state: str
    owner: str
    version: int
    opened: str
    changed: str
    rep: str = ""
    ibip: str = ""
    """The labels that are reserved for its item; empty if it replaces files of an item."""
    title: str = ""
    item: str = ""
    """The label of its item, once it is published."""
    edition_of: str = ""
    translation_of: str = ""
    replaces_files_of: str = ""
    fields: Fields = ()
    comments: list[CommentAnswer] = []


class DraftsAnswer(msgspec.Struct, frozen=True):
    """A page of drafts, those that changed last first."""

    drafts: list[DraftAnswer]
    after: str = ""
    """Continue after this; empty at the end."""


class DraftFilesAnswer(msgspec.Struct, frozen=True):
    """A page of the files of a draft, in the order of their paths."""

    files: list[StagedAnswer]
    count: int
    size: int
    """Number and bytes of all files."""
    after: str = ""


def draft_answer(
    draft: DepositDraft, comments: list[DraftComment] | None = None, *, whole: bool = True
) -> DraftAnswer:
    """Return a draft as a message; in a list without its fields."""
    purpose = rules.purpose_of(draft.purpose)
    rep, ibip = pair(draft.forms) if draft.forms else ("", "")
    return DraftAnswer(
        draft.id,
        str(draft.state),
        draft.owner,
        draft.version,
        moment(draft.opened),
        moment(draft.changed),
        rep,
        ibip,
        draft.title,
        draft.item,
        purpose.edition_of,
        purpose.translation_of,
        purpose.item,
        rules.read(draft.fields) if whole else (),
        [CommentAnswer(moment(each.at), each.who, each.text) for each in comments or ()],
    )


def drafts_answer(drafts: list[DepositDraft], limit: int) -> DraftsAnswer:
    """Return a page of drafts as a message."""
    after = cursor_of(drafts[-1]) if len(drafts) == limit else ""
    return DraftsAnswer([draft_answer(each, whole=False) for each in drafts], after)


def cursor_of(draft: DepositDraft) -> str:
    """Return the place of a draft in a list, for the address of the next page."""
    return f"{draft.changed}-{draft.id}"


def place_of(text: str) -> DraftPlace | None:
    """Return the place after which a page begins; None for the first page."""
    if not text:
        return None
    changed, _, id_ = text.partition("-")
    if not (changed.isascii() and changed.isdigit() and len(changed) < 20 and id_.isalnum()):  # noqa: PLR2004  # 64 bits
        msg = Sentence("%(text)s is no place in this list.", text=shown(text))
        raise RequestError(msg)
    return DraftPlace(min(int(changed), 2**63 - 1), id_)
