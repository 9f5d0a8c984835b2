"""What a ledger remembers of labels, in SQL: for whom, and what they are bound to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ibi.adapters.database import Execute
from ibi.ports import Issue, LabelRecord

_LABEL: Final = "SELECT instant, prefixes, recorded, target FROM ibi_label WHERE prefix = $1"


def _label(row: tuple[Any, ...]) -> LabelRecord:
    instant, prefixes, recorded, target = row
    return LabelRecord(instant, tuple(prefixes.split()), recorded, target)


def label_at(execute: Execute, prefix: str, instant: int) -> LabelRecord | None:
    """Return what is recorded of a label."""
    rows = execute(f"{_LABEL} AND instant = $2", prefix, instant)
    return _label(rows[0]) if rows else None


def issue_of(execute: Execute, prefix: str, key: str) -> Issue | None:
    """Return what was given for a key."""
    rows = execute(
        "SELECT request, instants, prefixes FROM ibi_issue WHERE prefix = $1 AND key = $2",
        prefix,
        key,
    )
    if not rows:
        return None
    request, instants, prefixes = rows[0]
    return Issue(key, request, tuple(map(int, instants.split())), tuple(prefixes.split()))


class TakenError(Exception):
    """A key is taken; whatever else was written is undone."""

    def __init__(self, issue: Issue) -> None:
        """Keep by what."""
        self.issue = issue
        super().__init__(issue)


def write(execute: Execute, issues: Sequence[Issue], labels: Sequence[LabelRecord]) -> None:
    """Write issues and labels; TakenError if a key is taken."""
    # Under each prefix, so that a subsystem that gains or loses a form finds it again.
    for issue in issues:
        for prefix in sorted(issue.prefixes):
            written = execute(
                "INSERT INTO ibi_issue (prefix, key, request, instants, prefixes) "
                "VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING RETURNING key",
                prefix,
                issue.key,
                issue.request,
                " ".join(map(str, issue.instants)),
                " ".join(issue.prefixes),
            )
            if not written and (taken := issue_of(execute, prefix, issue.key)):
                raise TakenError(taken)
    for label in labels:
        for prefix in label.prefixes:
            execute(
                "INSERT INTO ibi_label (prefix, instant, prefixes, recorded, target) "
                "VALUES ($1, $2, $3, $4, $5)",
                prefix,
                label.instant,
                " ".join(label.prefixes),
                label.recorded,
                label.target,
            )


def unbound_labels(
    execute: Execute, prefixes: Sequence[str], after: int, limit: int
) -> list[LabelRecord]:
    """Return labels that are bound to nothing, the oldest first, each once."""
    select = f"{_LABEL} AND target = '' AND instant > $2 ORDER BY instant LIMIT $3"
    found = {_label(row) for prefix in prefixes for row in execute(select, prefix, after, limit)}
    return sorted(found, key=lambda record: record.instant)[:limit]
