"""The values that the pages of drafts show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from ibi.archive.ports.drafts import DepositDraft, DraftComment
from ibi.archive.ports.file_store import Staged
from ibi.archive.rules.drafts import draft as rules
from ibi.archive.rules.drafts.draft import DraftPurpose, Fields
from ibi.errors import Sentence
from ibi.metadata.choices import COMMON_LICENCES, ITEM_TYPES
from ibi.metadata.form import CONTRIBUTORS, CREATORS, FUNDING, RELATED, TEXTS, Form, Place
from ibi.metadata.vocabulary import RELATIONS, ROLES, SCHEMES

SHOWN_FILES: Final = 20
"""Files on the page of a draft, before it refers to the list of all."""
LISTED_FILES: Final = 200
"""Files on one page of the list of all files of a draft."""


class FilledIn(NamedTuple):
    """A line of what is filled in."""

    label: Sentence
    texts: Sequence[str]
    is_ours: bool = False
    """Whether the texts are those of this program, which pages translate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormView:
    """The form of a description as it was typed, with its faults."""

    fields: Fields
    faults: Mapping[Place, str] = field(default_factory=dict)
    saved: Fields | None = None
    """What is saved, if this was typed in another window and could not be saved."""

    types = ITEM_TYPES
    licences = COMMON_LICENCES
    roles = ROLES
    relations = RELATIONS
    schemes = SCHEMES

    def value(self, name: str) -> str:
        """Return what was typed into a field that stands once."""
        return next((text for each, text in self.fields if each == name), "")

    def values(self, name: str) -> list[str]:
        """Return what was typed into a repeated field, at least one text."""
        return [text for each, text in self.fields if each == name] or [""]

    def rows(self, name: str) -> Sequence[Sequence[str]]:
        """Return the rows of a group, at least one of them."""
        group = _GROUPS[name]
        return Form(self.fields).rows(group) or (("",) * len(group),)

    def fault(self, name: str, number: int = 0) -> str:
        """Return the fault of a field; empty if there is none."""
        return self.faults.get(Place(name, number), "")

    def elsewhere(self, name: str, number: int = 0) -> str | None:
        """Return what is saved in a field, if something else was typed here."""
        if self.saved is None:
            return None
        here, there = (
            [text for each, text in fields if each == name] for fields in (self.fields, self.saved)
        )
        mine = here[number] if number < len(here) else ""
        other = there[number] if number < len(there) else ""
        return None if mine == other else other

    @property
    def lines(self) -> Iterator[FilledIn]:
        """Yield what is filled in; each row of a group is one text."""
        for name, label in _LABELS.items():
            rows = Form(self.fields).rows(_GROUPS.get(name, (name,)))
            texts = ["; ".join(text for text in row if text.strip()) for row in rows]
            if not any(texts):
                continue
            if name == "creator-unknown":
                texts = ["✓"]
            if name == "type":
                names = {each.value: each.name for each in self.types}
                yield FilledIn(label, [names.get(text, text) for text in texts], is_ours=True)
            else:
                yield FilledIn(label, list(filter(None, texts)))

    @property
    def has_more(self) -> bool:
        """Whether something is in the fields that are folded away at first."""
        names = {each for group in (CONTRIBUTORS, TEXTS, RELATED, FUNDING) for each in group}
        names |= {"date", "publisher", "readers", "collection"}
        chosen = {"contributor-role", "relation", "related-scheme"}
        typed = any(text.strip() for name, text in self.fields if name in names - chosen)
        return typed or any(place.field in names for place in self.faults)


_GROUPS: Final = {
    "creator": CREATORS,
    "contributor": CONTRIBUTORS,
    "text": TEXTS,
    "in-language": TEXTS,
    "related": RELATED,
    "relation": RELATED,
    "funder": FUNDING,
}
_LABELS: Final = {
    "title": Sentence("Title"),
    "creator": Sentence("Creators"),
    "creator-unknown": Sentence("The creator is unknown"),
    "type": Sentence("Type"),
    "year": Sentence("Year"),
    "date": Sentence("Exact date"),
    "publisher": Sentence("Publisher"),
    "abstract": Sentence("Abstract"),
    "words": Sentence("Keywords"),
    "title-language": Sentence("Language of title and abstract"),
    "language": Sentence("Languages of the item"),
    "licence": Sentence("Licence"),
    "contributor": Sentence("Contributors"),
    "in-language": Sentence("Title, abstract and keywords in other languages"),
    "relation": Sentence("Related items"),
    "funder": Sentence("Funding"),
    "collection": Sentence("Collection"),
    "readers": Sentence("Readers"),
    "target": Sentence("Main file"),
    "remove": Sentence("Removed"),
}
"""The names of fields, and of groups by their first field, in the order in which they are shown."""


class Check(NamedTuple):
    """A line of the list of what is done and what is left before a draft can be published."""

    text: str
    anchor: str = ""
    """The id of the field or the part with what is left; empty if nothing is left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesView:
    """Files of a draft: the first ones, or one page of all."""

    files: Sequence[Staged] = ()
    count: int = 0
    size: int = 0
    unfinished: int = 0
    """How many of all files have not come whole."""
    after: str = ""
    """The path after which the next page begins; empty at the end."""

    @classmethod
    def of(cls, staged: Sequence[Staged], after: str, most: int) -> FilesView:
        """Return the files after a path."""
        page = [each for each in staged if each.path > after][: most + 1]
        return cls(
            files=page[:most],
            count=len(staged),
            size=sum(each.size for each in staged),
            unfinished=sum(each.file is None for each in staged),
            after=page[most - 1].path if len(page) > most else "",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftView:
    """The page of a draft."""

    draft: DepositDraft
    form: FormView
    files: FilesView
    checks: Sequence[Check] = ()
    comments: Sequence[DraftComment] = ()
    paths: Sequence[str] = ()
    """Paths among which the main file is chosen; none if there are too many for a list."""
    kept: Sequence[str] = ()
    """Paths of the files of the item that the draft changes."""
    most: int = 0
    """Bytes of the largest file."""
    review: bool = False
    fault_text: str = ""
    """What could not be done, as a sentence."""
    doubts: Sequence[str] = ()
    """What was not understood of a file from which the form was filled in."""
    script: str = ""
    checksum: str = ""

    @property
    def purpose(self) -> DraftPurpose:
        """What becomes of the draft."""
        return rules.purpose_of(self.draft.purpose)

    @property
    def is_editable(self) -> bool:
        """Whether its owner may change it."""
        return self.draft.state in {"open", "returned"}

    @property
    def is_ready(self) -> bool:
        """Whether it can be published."""
        return not any(each.anchor for each in self.checks)


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftListView:
    """The list of a person's drafts."""

    drafts: Sequence[DepositDraft]
    published: Sequence[DepositDraft] = ()
    key: str = ""
    """The random key of the form for a new draft."""
    after: str = ""
    review: bool = False
    is_curator: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportView:
    """The page on which a description is filled in from a text, a file or a label."""

    draft: DepositDraft
    text: str = ""
    label: str = ""
    fault_text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewView:
    """A draft as a curator sees it."""

    view: DraftView
    comment: str = ""
    """The comment that was typed, if the draft could not be returned with it."""
    fault_text: str = ""
