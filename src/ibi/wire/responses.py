"""The responses to the requests of the protocol, each a frozen value (004, chapters 5 and 7).

Answers of archives come from foreign programs: unknown names are ignored, and malformed values
are refused rather than guessed at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from ibi.errors import MessageError
from ibi.wire import pairlist
from ibi.wire.access_counts import is_digest
from ibi.wire.url_list import Related, UrlList

__all__ = [
    "Confirmation",
    "ErrorAnswer",
    "ExclusionStatus",
    "InclusionStatus",
    "Notice",
    "Related",
    "Response",
    "UrlList",
    "decode",
    "encode",
]

Pairs: TypeAlias = Iterator[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Confirmation:
    """Confirmation of an archive that it runs (section 5.2)."""

    def pairs(self) -> Pairs:
        """Yield the pairs."""
        yield "confirmation", "yes"


@dataclass(frozen=True, slots=True)
class Notice:
    """Confirmation of an archive that it received an acknowledgment (Algorithm 1, line 20)."""

    def pairs(self) -> Pairs:
        """Yield the pairs."""
        yield "notice", "acknowledgment received"


@dataclass(frozen=True, slots=True)
class InclusionStatus:
    """The resolver included an archive; `confirmed` if the archive confirmed that it runs."""

    confirmed: bool
    link_secret: str = field(default="", repr=False)
    """The secret that proves counts of accesses (our Decision); empty for other software."""

    def pairs(self) -> Pairs:
        """Yield the pairs."""
        yield "status.archive", "included"
        yield "status.confirmation", "successful" if self.confirmed else "unsuccessful"
        if self.link_secret:
            yield "linksecret", self.link_secret


@dataclass(frozen=True, slots=True)
class ExclusionStatus:
    """The resolver excluded an archive."""

    def pairs(self) -> Pairs:
        """Yield the pairs."""
        yield "status.archive", "excluded"


@dataclass(frozen=True, slots=True)
class ErrorAnswer:
    """The request cannot be served (our Decision: the standard has no such answer)."""

    code: str
    reason: str

    def pairs(self) -> Pairs:
        """Yield the pairs."""
        yield "status.error", self.code
        yield "status.reason", self.reason


Response: TypeAlias = (
    UrlList | Confirmation | Notice | InclusionStatus | ExclusionStatus | ErrorAnswer
)


def encode(response: Response | None) -> str:
    """Return a response as a pair list; None, for an unknown item, is the empty list."""
    return pairlist.encode(dict(response.pairs())) if response is not None else ""


def decode(text: bytes | str) -> Response | None:
    """Parse a response; PairListError if it is not a pair list, MessageError if not valid."""
    pairs = pairlist.decode(text)
    if not pairs:
        return None
    for name, read in _READERS.items():
        if name in pairs:
            return read(pairs)
    raise MessageError("unknown-answer", "The answer is none of this protocol.")


def _read_confirmation(pairs: Mapping[str, str]) -> Confirmation:
    _require(pairs, "confirmation", "yes")
    return Confirmation()


def _read_notice(pairs: Mapping[str, str]) -> Notice:
    _require(pairs, "notice", "acknowledgment received")
    return Notice()


def _read_status(pairs: Mapping[str, str]) -> InclusionStatus | ExclusionStatus:
    if _require(pairs, "status.archive", "included", "excluded") == "excluded":
        return ExclusionStatus()
    confirmation = _require(pairs, "status.confirmation", "successful", "unsuccessful")
    secret = pairs.get("linksecret", "")
    return InclusionStatus(confirmation == "successful", secret if is_digest(secret) else "")


def _read_error(pairs: Mapping[str, str]) -> ErrorAnswer:
    return ErrorAnswer(pairs["status.error"], pairs.get("status.reason", ""))


def _require(pairs: Mapping[str, str], name: str, *allowed: str) -> str:
    if name not in pairs:
        raise MessageError("missing-pair", f"The answer has no pair {name}.")
    value = " ".join(pairs[name].split()).lower()
    if value not in allowed:
        raise MessageError("bad-value", f"The value of {name} is not {' or '.join(allowed)}.")
    return value


_READERS: Final[dict[str, Callable[[Mapping[str, str]], Response]]] = {
    "archiveaddress": UrlList.of_pairs,
    "status.error": _read_error,
    "status.archive": _read_status,
    "confirmation": _read_confirmation,
    "notice": _read_notice,
}
