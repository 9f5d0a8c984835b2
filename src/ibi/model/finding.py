"""The result of a check of an installation, for people who run it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, TypeAlias

import msgspec

from ibi.errors.sentence import plain

Verdict: TypeAlias = Literal["ok", "warning", "failure"]
WORST_FIRST: Final[tuple[Verdict, ...]] = ("failure", "warning", "ok")


class Finding(msgspec.Struct, frozen=True, omit_defaults=True):
    """The result of one check, with advice."""

    part: str
    """What was checked: the machine, the resolver or the archive."""
    check: str
    verdict: Verdict
    text: str
    """What was found; a Sentence, where a page shows it too."""
    advice: str = ""

    def __str__(self) -> str:
        """Return the finding as one line."""
        text = f"{self.verdict:7}  {self.part} {self.check}: {self.text}"
        return f"{text}; {self.advice}" if self.advice else text

    def plain(self) -> Finding:
        """Return the finding in English only, as encoders accept it."""
        return Finding(self.part, self.check, self.verdict, plain(self.text), plain(self.advice))


def sorted_findings(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings with the worst first, otherwise in their order."""
    return sorted(findings, key=lambda each: WORST_FIRST.index(each.verdict))
