"""What an archive announces to a resolver, and the keys that the two exchange (004, chapter 5)."""

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
"""The longest key in characters. The standard sets no limit; header lines are no longer either."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key: ten or more digits, or two such numbers with a hyphen between them."""

    text: str

    def __post_init__(self) -> None:
        """Check the text. It may be a secret, so no error message repeats it."""
        if len(self.text) > LONGEST_KEY or _KEY.fullmatch(self.text) is None:
            raise KeyTextError

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        """Keep the digits out of logs and tracebacks."""
        return f"{type(self).__name__}(...)"


class RegistrationKey(Key):
    """The secret that an archive's administrator and the resolver's operator share."""

    __slots__ = ()


class UrlKey(Key):
    """The key that an archive sends with its answer and expects back with the acknowledgment."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class ArchiveRecord:
    """What an archive announces when it is switched on or off (004, Table 5.2)."""

    address: str
    """Host and port, as in a URL."""
    service: Label
    """The label of its archive service."""
    ip: str
    platform_version: str
    administrator: str
    """An e-mail address."""
    protocol: str = "HTTP"
