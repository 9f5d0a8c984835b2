"""Archives as a resolver knows them, and the keys that pass between the two (004, chapter 5)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ibi.errors import KeyTextError
from ibi.identifier.label import Label

# Table 5.1: Rules defining the formation of a registration key; a urlkey follows them too.
#
#   chave  = numero ["-" numero]
#   numero = 10*DIGITO
_KEY: Final = re.compile(r"[0-9]{10,}(?:-[0-9]{10,})?")
LONGEST_KEY: Final = 4096
"""Characters. The standard sets no limit; no header line is longer than this either."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key: ten or more digits, or two such numbers with a hyphen between them."""

    text: str

    def __post_init__(self) -> None:
        """Check it; what was given stands in no message, because it may be a secret."""
        if len(self.text) > LONGEST_KEY or _KEY.fullmatch(self.text) is None:
            raise KeyTextError

    def __str__(self) -> str:
        """Return the digits."""
        return self.text

    def __repr__(self) -> str:
        """Keep the digits out of logs and tracebacks."""
        return f"{type(self).__name__}(...)"


class RegistrationKey(Key):
    """The secret that an archive's administrator and the resolver's operator share."""

    __slots__ = ()


class UrlKey(Key):
    """What an archive gives out with its answer, and wants back with the acknowledgment."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class ArchiveRecord:
    """What an archive says of itself when it is switched on or off (004, Table 5.2)."""

    address: str
    """Host and port, as they stand in a URL."""
    service: Label
    """The label of its archive service."""
    ip: str
    platform_version: str
    administrator: str
    """An e-mail address."""
    protocol: str = "HTTP"
