"""Drafts and comments on them, in SQL."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from ibi.archive.ports.drafts import (
    DepositDraft,
    DraftComment,
    DraftPlace,
    DraftState,
    PublishedChoice,
    PublishedDraft,
)
from ibi.archive.rules.drafts.draft import LONGEST_TITLE
from ibi.foundation.sql.database import Execute
from ibi.foundation.sql.rows import is_storable, storable
from ibi.foundation.sql.store import SqlHandle
from ibi.model.item import Item
from ibi.model.label_pair import Forms

# The deposit decides whether a draft is published: it is completed in the transaction that creates
# the item.
_DRAFT: Final = (
    "SELECT d.id, d.owner, d.forms, d.purpose, d.fields, d.title, d.state, d.version, d.opened, "
    "d.changed, coalesce(p.completed, '') FROM archive_draft d "
    "LEFT JOIN archive_deposit p ON p.id = d.id"
)
_CHANGEABLE: Final = "EXISTS (SELECT 1 FROM archive_deposit p WHERE p.id = $3 AND p.completed = '')"
_UNFINISHED: Final = "d.state <> 'discarded' AND p.completed = ''"
_SAVE: Final = (
    "UPDATE archive_draft SET fields = $1, title = $2, version = version + 1, "
    "changed = $3 WHERE id = $4 AND version = $5 AND state IN ('open', 'returned') "
    "AND EXISTS (SELECT 1 FROM archive_deposit p WHERE p.id = $4 AND p.completed = '') RETURNING id"
)
_COUNT: Final = (
    "SELECT count(*) FROM archive_draft d JOIN archive_deposit p ON p.id = d.id "
    "WHERE d.owner = $1 AND d.state <> 'discarded' AND p.completed = ''"
)
_NEWEST: Final = "ORDER BY d.changed DESC, d.id DESC"
_PUBLISHED: Final = (
    "SELECT d.id, d.owner, d.forms, d.purpose, d.fields, d.title, d.state, d.version, d.opened, "
    "d.changed, p.completed, coalesce(i.state, '') FROM archive_draft d "
    "JOIN archive_deposit p ON p.id = d.id LEFT JOIN archive_item i ON i.label = p.completed "
    "WHERE d.owner = $1 AND p.completed <> '' AND d.label IS NOT NULL "
    "AND (lower(d.title) LIKE $2 ESCAPE '\\' OR lower(d.forms) LIKE $2 ESCAPE '\\') "
    "AND (i.state = $3 OR $3 = '')"
)
_ESCAPES: Final = str.maketrans({each: f"\\{each}" for each in "\\%_"})
_ORDERS: Final = {
    "newest": "d.changed DESC, d.id DESC",
    "oldest": "d.changed, d.id",
    "title": "lower(d.title), d.id",
}
_LAST: Final = DraftPlace(2**63 - 1, "")


class SqlDrafts:
    """Drafts; those that are published or discarded stay, so that no label is given twice."""

    def __init__(self, handle: SqlHandle) -> None:
        self._write = handle.write
        self._read = handle.read

    def open(self, draft: DepositDraft) -> bool:
        """Store a new draft and its open deposit; return False if the id is taken."""

        def work(execute: Execute) -> bool:
            rows = execute(
                "INSERT INTO archive_draft (id, owner, label, forms, purpose, fields, title, "
                "state, version, opened, changed) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, "
                "$10, $11) ON CONFLICT DO NOTHING RETURNING id",
                draft.id,
                draft.owner,
                draft.forms.label.canonical if draft.forms else None,
                str(draft.forms or ""),
                draft.purpose,
                draft.fields,
                storable(draft.title),
                str(draft.state),
                draft.version,
                draft.opened,
                draft.changed,
            )
            if rows:
                execute(
                    "INSERT INTO archive_deposit (id, opened, who, request, completed) "
                    "VALUES ($1, $2, $3, '', '')",
                    draft.id,
                    draft.opened,
                    draft.owner,
                )
            return bool(rows)

        return self._write(work)

    def get(self, id: str) -> DepositDraft | None:  # noqa: A002  # what it is called everywhere
        """Return a draft in any state; None if there is none."""
        rows = self._read(f"{_DRAFT} WHERE d.id = $1", id) if is_storable(id) else []
        return _draft(rows[0]) if rows else None

    def with_label(self, name: str) -> str:
        """Return the id of the draft for which a canonical label was reserved; empty if none."""
        rows = self._read("SELECT id FROM archive_draft WHERE label = $1", name)
        return str(rows[0][0]) if rows else ""

    def save(self, id: str, version: int, fields: str, title: str, at: int) -> bool:  # noqa: A002  # what is saved
        """Replace the fields; return False if the version is another, or it cannot be changed."""
        return bool(
            self._write(lambda execute: execute(_SAVE, fields, storable(title), at, id, version))
        )

    def touch(self, id: str, at: int) -> None:  # noqa: A002
        """Record a change of its files."""
        update = "UPDATE archive_draft SET changed = $1 WHERE id = $2 AND changed < $1"
        self._write(lambda execute: execute(update, at, id))

    def move(
        self,
        id: str,  # noqa: A002
        state: DraftState,
        before: tuple[DraftState, ...],
        comment: DraftComment,
    ) -> bool:
        """Change the state of an unfinished draft from one of some others, and add a comment."""
        ours = ", ".join(f"'{each}'" for each in before)
        emptied = ", fields = '[]', title = ''" if state is DraftState.DISCARDED else ""
        update = (
            f"UPDATE archive_draft SET state = $1, changed = $2{emptied} "  # noqa: S608  # our own names
            f"WHERE id = $3 AND state IN ({ours}) AND {_CHANGEABLE} RETURNING id"
        )

        def work(execute: Execute) -> bool:
            if not execute(update, str(state), comment.at, id):
                return False
            if state is DraftState.DISCARDED:
                execute("DELETE FROM archive_deposit WHERE id = $1 AND completed = ''", id)
            if comment.text:
                _comment(execute, id, comment)
            return True

        return self._write(work)

    def comments(self, id: str) -> list[DraftComment]:  # noqa: A002
        """Return the comments on a draft, the oldest first."""
        rows = self._read(
            "SELECT at, who, text FROM archive_draft_comment WHERE draft = $1 ORDER BY number", id
        )
        return [DraftComment(*row) for row in rows]

    def of_owner(self, owner: str, after: DraftPlace | None, limit: int) -> list[DepositDraft]:
        """Return the unfinished drafts of an owner, those that changed last first."""
        return self._page(f"d.owner = $3 AND {_UNFINISHED}", after, limit, owner)

    def published_by(self, owner: str, after: DraftPlace | None, limit: int) -> list[DepositDraft]:
        """Return the published drafts of an owner, those that changed last first."""
        return self._page("d.owner = $3 AND p.completed <> ''", after, limit, owner)

    def published(self, choice: PublishedChoice, skip: int, limit: int) -> list[PublishedDraft]:
        """Return published drafts, without those of new files for an item."""
        rows = self._read(
            f"{_PUBLISHED} ORDER BY {_ORDERS[choice.order]} LIMIT $4 OFFSET $5",
            choice.owner,
            f"%{_pattern(storable(choice.words.lower()))}%",
            choice.state,
            limit,
            skip,
        )
        return [PublishedDraft(_draft(row[:-1]), row[-1]) for row in rows]

    def submitted(self, after: DraftPlace | None, limit: int) -> list[DepositDraft]:
        """Return the drafts that wait for a curator, those that changed last first."""
        return self._page("d.state = $3 AND p.completed = ''", after, limit, "submitted")

    def _page(
        self, which: str, after: DraftPlace | None, limit: int, value: str
    ) -> list[DepositDraft]:
        changed, id_ = after or _LAST
        rows = self._read(
            f"{_DRAFT} WHERE (d.changed < $1 OR (d.changed = $1 AND d.id < $2)) AND {which} "
            f"{_NEWEST} LIMIT $4",
            changed,
            id_,
            value,
            limit,
        )
        return [_draft(row) for row in rows]

    def count(self, owner: str) -> int:
        """Return the number of unfinished drafts of an owner."""
        [(count,)] = self._read(_COUNT, owner)
        return int(count)

    def unchanged_since(self, before: int, limit: int) -> list[DepositDraft]:
        """Return open and returned drafts that were last changed before a time."""
        rows = self._read(
            f"{_DRAFT} WHERE d.changed < $1 AND d.state IN ('open', 'returned') "
            "AND p.completed = '' ORDER BY d.changed, d.id LIMIT $2",
            before,
            limit,
        )
        return [_draft(row) for row in rows]


def retitle(execute: Execute, items: Iterable[Item], at: int) -> None:
    """Give published drafts the titles and the time of the changed items that they became."""
    for item in items:
        if item.describes is not None and item.record is not None and item.record.titles:
            execute(
                "UPDATE archive_draft SET title = $1, changed = $2 WHERE label = $3 AND EXISTS "
                "(SELECT 1 FROM archive_deposit p WHERE p.id = archive_draft.id "
                "AND p.completed <> '')",
                storable(item.record.title.value)[:LONGEST_TITLE],
                at,
                item.describes.label.canonical,
            )


def _comment(execute: Execute, draft: str, comment: DraftComment) -> None:
    [(last,)] = execute(
        "SELECT coalesce(max(number), 0) FROM archive_draft_comment WHERE draft = $1", draft
    )
    execute(
        "INSERT INTO archive_draft_comment (draft, number, at, who, text) "
        "VALUES ($1, $2, $3, $4, $5)",
        draft,
        int(last) + 1,
        comment.at,
        comment.who,
        storable(comment.text),
    )


def _pattern(words: str) -> str:
    """Return what LIKE compares with texts in lower case.

    SQLite, and PostgreSQL in some locales, know the lower case of ASCII letters only: any character
    is taken for another letter that has two cases.
    """
    return "".join(
        "_" if not each.isascii() and each.lower() != each.upper() else each.translate(_ESCAPES)
        for each in words
    )


def _draft(row: tuple[Any, ...]) -> DepositDraft:
    id_, owner, forms, purpose, fields, title, state, version, opened, changed, completed = row
    return DepositDraft(
        id=id_,
        owner=owner,
        forms=Forms.parse(forms) if forms else None,
        purpose=purpose,
        fields=fields,
        title=title,
        state=DraftState.PUBLISHED if completed else DraftState(state),
        version=version,
        opened=opened,
        changed=changed,
        item=completed,
    )
