"""The values that the pages of acts on items show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ibi.archive.archive import ItemWithMetadata
from ibi.archive.ports.catalogue import HistoryEntry
from ibi.archive.ports.drafts import PublishedDraft
from ibi.archive.web.drafts.views import FormView


@dataclass(frozen=True, slots=True, kw_only=True)
class MyItemsView:
    """A page of the items that a person has published."""

    items: Sequence[PublishedDraft]
    words: str = ""
    state: str = ""
    order: str = ""
    page: int = 1
    has_more: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedItemView:
    """An item with the acts that its reader may do on it, and its history."""

    look: ItemWithMetadata
    history: Sequence[HistoryEntry] = ()
    can_administer: bool = False
    can_curate: bool = False

    @property
    def title(self) -> str:
        """The title, or the label if there is no title."""
        return _title(self.look)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActView:
    """A page that says what an act will do, before it is done."""

    act: str
    look: ItemWithMetadata
    key: str = ""
    """The random key of the form that opens a draft."""
    typed: Mapping[str, str] = field(default_factory=dict)
    fault_text: str = ""

    @property
    def title(self) -> str:
        """The title, or the label if there is no title."""
        return _title(self.look)

    def value(self, name: str) -> str:
        """Return what was typed into a field."""
        return self.typed.get(name, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeView:
    """The form of the description of an item."""

    look: ItemWithMetadata
    form: FormView
    version: int
    """The number of changes of the description when the form was made."""
    fault_text: str = ""

    @property
    def title(self) -> str:
        """The title, or the label if there is no title."""
        return _title(self.look)


def _title(look: ItemWithMetadata) -> str:
    record = look.record
    return (record.title.value if record else "") or look.item.forms.short.spelling
