"""What the state of an archive means for the people who run it.

`ibi doctor` and the running archive apply the same rules to what each of them can see.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ibi.errors import Sentence
from ibi.model.clock import SECOND
from ibi.model.finding import Finding

_PART: Final = "archive"
STATES: Final = {
    "pending": Sentence("pending"),
    "included": Sentence("included"),
    "unconfirmed": Sentence("unconfirmed"),
    "refused": Sentence("refused"),
    "excluded": Sentence("excluded"),
    "unreachable": Sentence("unreachable"),
    "leaving": Sentence("leaving"),
}
"""The states of a link, for people."""


@dataclass(frozen=True, slots=True)
class LinkFacts:
    """The link to one resolver."""

    resolver: str
    state: str
    since: str
    """An instant, as ISO 8601 writes it."""
    reason: str = ""


def ledger_finding(mark: int, now: int, behind: int) -> Finding:
    """Check the clock against the ledger; `behind` is how far it may be behind the last label.

    All are nanoseconds.
    """
    if mark - now > behind:
        text = Sentence(
            "the clock is %(seconds)s s behind the last label", seconds=round((mark - now) / SECOND)
        )
        advice = Sentence("set the clock: nothing is minted")
        return Finding(_PART, "ledger", "failure", text, advice)
    return Finding(_PART, "ledger", "ok", Sentence("the last label is not ahead of the clock"))


def restored_findings(moment: str) -> Iterator[Finding]:
    """Check an archive from a backup of a moment; "" for one whose Originals are conceded."""
    if moment:
        text = Sentence(
            "from a backup of %(moment)s: Originals that it gave away since are not conceded",
            moment=moment,
        )
        advice = Sentence(
            "stop it and run 'ibi archive concede': until then it gives no Original away"
        )
        yield Finding(_PART, "restore", "warning", text, advice)


def link_findings(links: Sequence[LinkFacts]) -> Iterator[Finding]:
    """Check whether resolvers include the archive."""
    if not links:
        advice = "'ibi archive link RESOLVER'"
        yield Finding(_PART, "link", "warning", Sentence("to no resolver"), advice)
    for link in links:
        text: str = Sentence(
            "%(resolver)s: %(state)s since %(since)s",
            resolver=link.resolver,
            state=STATES.get(link.state, link.state),
            since=link.since,
        )
        if link.state == "included":
            yield Finding(_PART, "link", "ok", text)
            continue
        if link.reason:
            text = Sentence("%(text)s, %(reason)s", text=text, reason=link.reason)
        yield Finding(_PART, "link", "warning", text, _advice(link.state))


def _advice(state: str) -> str:
    if state == "refused":
        return Sentence("its operator has to register the archive: 'ibi archive link' shows what")
    return Sentence("look at both addresses, and at what is between them")


def upkeep_findings(damaged: int, missing: int) -> Iterator[Finding]:
    """Check what is recorded about damaged files, and about Originals that are not found."""
    if damaged:
        text = Sentence("damaged: %(count)s", count=damaged)
        advice = Sentence("'ibi archive audit --repair' mends them from a copy elsewhere")
        yield Finding(_PART, "files", "failure", text, advice)
    else:
        yield Finding(_PART, "files", "ok", Sentence("none is known to be damaged"))
    if missing:
        text = Sentence("the Original cannot be found of %(count)s", count=missing)
        advice = Sentence("'ibi archive copies --faulty' says why")
        yield Finding(_PART, "copies", "warning", text, advice)
