"""The settings by which a site presents itself, and their checks: no other module is needed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Protocol

from ibi.wire.addresses import is_mail_address, is_web_address

MAX_IMPRINT: Final = 20_000
"""Characters of an imprint: its page stays below 100 kB."""

# Nothing but digits: the colour becomes part of a style sheet.
_COLOUR: Final = re.compile(r"#(?:[0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})")


class IdentitySettings(Protocol):
    """The settings of an archive or a resolver that its pages show."""

    @property
    def folder(self) -> Path:
        """The folder of the instance."""

    @property
    def name(self) -> str:
        """The name, for people."""

    @property
    def logo(self) -> str:
        """The path of an image, relative to the folder; empty for the mark of IBI."""

    @property
    def accent(self) -> str:
        """A colour, such as #1351b4; empty for the usual one."""

    @property
    def contact(self) -> str:
        """An e-mail address or a URL; empty if there is none."""

    @property
    def imprint(self) -> str:
        """A text, or the URL of a page; empty if there is none."""


def identity_checks(settings: IdentitySettings) -> Iterator[tuple[str, object, str]]:
    """Yield the name of each setting, whether it is valid, and what is expected."""
    yield "logo", settings.logo.isprintable(), "the path of an image"
    yield (
        "accent",
        not settings.accent or _COLOUR.fullmatch(settings.accent),
        "a colour, as #1351b4",
    )
    yield (
        "contact",
        not settings.contact
        or is_mail_address(settings.contact)
        or is_web_address(settings.contact),
        "an e-mail address, or the http(s) URL of a page",
    )
    yield (
        "imprint",
        _is_text(settings.imprint),
        f"a text of at most {MAX_IMPRINT} characters, or the http(s) URL of a page",
    )


def _is_text(text: str) -> bool:
    return len(text) <= MAX_IMPRINT and all(
        line.isprintable() for line in text.replace("\t", " ").splitlines()
    )
