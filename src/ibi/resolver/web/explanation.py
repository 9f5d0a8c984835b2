"""The explanation of a resolution, as one value for pages, programs and the command line.

It contains the answers of the archives, except their urlkeys, which count accesses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from ibi.errors import printable
from ibi.resolver.rules.decision import Why
from ibi.resolver.rules.label_plausibility import Impossibility

Said: TypeAlias = Literal["original", "copy", "has-it", "deleted", "no", "silent"]
DecisionName: TypeAlias = Literal[
    "redirect", "hop", "conflict", "gone", "unserved", "not-found", "unsure", "loop", "endless"
]
"""The decision of a step, which is never one of the last two, or of the whole, which is never a
hop."""

DOUBTED: Final = "doubted"
"""The reason if no archive was chosen although one claims the Original."""
UNREAD: Final = "unread"
"""The reason if no archive was chosen although one claims the Original, because the record of the
resolver cannot be read."""
ORIGINAL_GONE: Final = "original-gone"
"""The Original was required and is deleted, and an archive has a Copy."""
NEXT_NOT_FOUND: Final = "next-not-found"
"""The item leads on to another one, which no archive has."""
IMPOSSIBLE: Final = tuple(Impossibility)
"""The codes of why no archive can have a label, although not all have answered."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of one archive."""

    archive: str
    """The label of its service."""
    name: str = ""
    """The name that it gives itself; empty if it is not known."""
    address: str
    said: Said
    detail: str = ""
    """The URL that it gave, when the item was deleted, or why it did not answer."""
    fault: str = ""
    """The part of its answer that was rejected."""
    next: str = ""
    """The label that it leads on to."""
    seconds: float = 0.0
    is_owner: bool = False
    is_home: bool = False
    is_likely: bool = False
    """Whether a search of a reader asks it before others; false where it asks all at once."""
    chosen: bool = False


class ExplainedStep(msgspec.Struct, frozen=True, kw_only=True):
    """One question on the way, and its decision."""

    question: str
    """A persistent URL without its resolver."""
    label: str
    verbs: tuple[str, ...]
    asked: tuple[Asked, ...]
    """The archives in the order of their answers, then those that did not answer."""
    decision: DecisionName
    why: str
    """The code of why an archive was chosen; empty if none was."""
    because: str
    """The same, or what the decision means, in English."""
    next: str = ""
    """The label that was asked for next."""
    seconds: float


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """The archives asked, their answers, the hops, and the reason of the outcome."""

    asked: str
    """A persistent URL without its resolver."""
    label: str
    outcome: DecisionName
    because: str
    """What the outcome means, in English."""
    location: str = ""
    """The URL that the reader is sent to; empty if there is none."""
    chain: tuple[str, ...]
    """The labels on the way."""
    seconds: float
    steps: tuple[ExplainedStep, ...]

    @property
    def last(self) -> ExplainedStep:
        """The step at which it ended."""
        return self.steps[-1]

    @property
    def case(self) -> str:
        """The outcome, or the case of it that has a text of its own."""
        return case_of(self.outcome, self.steps)

    @property
    def missing(self) -> str:
        """The label of an item that another one leads to, and that no archive has."""
        return self.last.label if self.case == NEXT_NOT_FOUND else ""

    @property
    def longest(self) -> float:
        """The seconds of the slowest archive."""
        return max((each.seconds for step in self.steps for each in step.asked), default=0.0)


def case_of(outcome: str, steps: Sequence[ExplainedStep]) -> str:
    """Return the outcome of these steps, or the case of it that has a text of its own."""
    if outcome == "gone" and any(each.said == "copy" for each in steps[-1].asked):
        return ORIGINAL_GONE
    if outcome == "not-found" and steps[-1].why in IMPOSSIBLE:
        return steps[-1].why
    if outcome == "not-found" and len({each.label for each in steps}) > 1:
        return NEXT_NOT_FOUND
    return UNREAD if outcome == "unsure" and steps[-1].why == UNREAD else outcome


def sentence(code: str) -> str:
    """Return in English what an outcome means, or why an archive was chosen."""
    return SENTENCES[code]


# The reasons continue "chosen because".
SENTENCES: Final[dict[str, str]] = {
    Why.OWNER: "it is known to have the Original",
    Why.SETTLED: "the operator of the resolver settled that it has the Original",
    Why.HOME: "the label was made where this archive is",
    Why.ONLY_ORIGINAL: "it alone says that it has the Original",
    Why.SENIOR: "of those that could serve it was registered first",
    Why.COPY: "it was the first to offer a copy, and no Original was offered",
    DOUBTED: "An archive says that it has the Original, but another one that is trusted rather "
    "than it does not answer.",
    UNREAD: "An archive says that it has the Original, but it cannot be read at the moment whether "
    "another one is trusted rather than it.",
    Impossibility.IN_THE_FUTURE: "Its date has not come yet, so that no archive can have made this "
    "label. Not all archives have answered, but none of them can have it.",
    Impossibility.UNKNOWN_HOST: "This resolver never knew an archive at the host that the label "
    "names, and no archive lists it. Not all archives have answered, but none of them can have it.",
    "redirect": "The reader is sent to the address that the chosen archive gave.",
    "hop": "The search goes on from another item.",
    "conflict": "More than one archive says that it has the Original. An investigation is needed, "
    "and nobody is sent to any of them.",
    "gone": "The item was deleted, and no archive has it any more.",
    ORIGINAL_GONE: "The Original was deleted. An archive has a copy, but the Original was asked "
    "for.",
    NEXT_NOT_FOUND: "The item leads on to another one. All archives that are in service have "
    "answered, and none has that one.",
    "unserved": "An archive has the item, but not what was asked of it.",
    "not-found": "All archives that are in service have answered, and none has the item.",
    "unsure": "No archive that answered can serve this, and not all have answered.",
    "loop": "Items lead from one to the other in a circle.",
    "endless": "Items lead from one to the next without an end.",
}

_SAID: Final[dict[Said, str]] = {
    "original": "Original",
    "copy": "Copy",
    "has-it": "has it",
    "deleted": "deleted",
    "no": "does not have it",
    "silent": "no answer",
}


def as_text(explanation: Explanation) -> str:
    """Return an explanation for a terminal: a line for each archive, and why one was chosen."""
    lines: list[str] = []
    for number, step in enumerate(explanation.steps, 1):
        lines.append(f"{number}. {step.question}  ({step.seconds:.3f} s)")
        lines += [f"   {line}" for line in _aligned([_cells(each) for each in step.asked])]
        if step.why:
            lines.append(f"   {_conclusion(step)}")
    lines.append(f"{explanation.outcome}: {explanation.location or explanation.because}")
    if explanation.missing:
        lines.append(f"in no archive: {explanation.missing}")
    if len(explanation.chain) > 1:
        lines.append(f"by way of {' > '.join(explanation.chain)}")
    lines.append(f"{explanation.seconds:.3f} s in all")
    return "\n".join(map(printable, lines))


def _conclusion(step: ExplainedStep) -> str:
    chosen = [each.archive for each in step.asked if each.chosen]
    if not chosen:
        return step.because
    onward = f"; it leads on to {step.next}" if step.next else ""
    return f"{chosen[0]} chosen because {step.because}{onward}"


def _cells(each: Asked) -> tuple[str, ...]:
    standing = {"owner": each.is_owner, "home": each.is_home, "asked first": each.is_likely}
    detail = each.detail or (f"leads on to {each.next}" if each.next else "")
    return (
        "*" if each.chosen else "",
        each.archive,
        each.address,
        _SAID[each.said],
        f"{each.seconds:.3f} s",
        ", ".join(name for name, is_so in standing.items() if is_so),
        "; ".join(part for part in (detail, each.fault) if part),
    )


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) for cell, width in zip(row, widths, strict=True) if width
        ).rstrip()
        for row in rows
    ]
