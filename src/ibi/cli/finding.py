"""What an examination finds."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

Verdict: TypeAlias = Literal["ok", "warning", "failure"]


class Finding(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that was looked at, and what to do about it."""

    part: str
    """The machine, the resolver or the archive."""
    check: str
    verdict: Verdict
    text: str
    advice: str = ""

    def __str__(self) -> str:
        """Write it in one line."""
        text = f"{self.verdict:7}  {self.part} {self.check}: {self.text}"
        return f"{text}; {self.advice}" if self.advice else text
