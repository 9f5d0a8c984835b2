"""The responses to the requests of the protocol, each a frozen value (004, chapters 5 and 7).

An archive's answers come from foreign programs: names that are not known are ignored, and what
is malformed is refused rather than guessed at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from ibi.errors import MessageError
from ibi.wire import pairlist
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
    """An archive is there (section 5.2)."""

    def pairs(self) -> Pairs:
        """Yield the pairs."""
        yield "confirmation", "yes"


@dataclass(frozen=True, slots=True)
class Notice:
    """An archive got an acknowledgment (Algorithm 1, line 20)."""

    def pairs(self) -> Pairs:
        """Yield the pairs."""
        yield "notice", "acknowledgment received"


@dataclass(frozen=True, slots=True)
class InclusionStatus:
    """The resolver included an archive, which confirmed that it is there, or did not."""

    confirmed: bool

    def pairs(self) -> Pairs:
        """Yield the pairs."""
        yield "status.archive", "included"
        yield "status.confirmation", "successful" if self.confirmed else "unsuccessful"


@dataclass(frozen=True, slots=True)
class ExclusionStatus:
    """The resolver excluded an archive."""

    def pairs(self) -> Pairs:
        """Yield the pairs."""
        yield "status.archive", "excluded"


@dataclass(frozen=True, slots=True)
class ErrorAnswer:
    """A request cannot be served (our Decision: the standard has no word for it)."""

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
    """Write a response; None, to say that an item is not known, is an empty list."""
    return pairlist.encode(dict(response.pairs())) if response is not None else ""


def decode(text: bytes | str) -> Response | None:
    """Read a response; what is no pair list is a PairListError, all else a MessageError."""
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
    return InclusionStatus(confirmation == "successful")


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
