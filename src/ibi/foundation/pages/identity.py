"""The identity of a site: its name, logo, accent colour, contact and imprint on every page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NamedTuple
from urllib.parse import quote

from ibi.errors import RequestError, shown
from ibi.foundation.pages.identity_settings import IdentitySettings
from ibi.foundation.pages.links import IMPRINT
from ibi.foundation.pages.site import Entry, Site
from ibi.foundation.pages.static_files import StaticFile, versioned
from ibi.wire.addresses import is_mail_address, is_web_address

LARGEST_LOGO: Final = 65_536
"""Bytes: a page weighs less than 100 kB with it."""
CONTACT_NAME: Final = "Contact"
IMPRINT_NAME: Final = "Imprint"
_LOGO: Final = "/static/logo"
_ACCENT: Final = "/static/accent.css"
_SVG_ROOT: Final = 4096
"""Bytes in which the root of an SVG document begins, after comments of the program that made it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteIdentity:
    """How a site presents itself."""

    name: str
    logo: StaticFile | None = None
    """None for the mark of IBI."""
    accent: str = ""
    contact: str = ""
    imprint: str = ""

    @property
    def files(self) -> Mapping[str, StaticFile]:
        """The files of this site alone, by path below its address."""
        files = {}
        if self.logo is not None:
            files[_LOGO] = self.logo
        if self.accent:
            sheet = f":root {{ --accent: {self.accent} }}\n"
            files[_ACCENT] = StaticFile(sheet.encode(), "text/css")
        return files

    @property
    def imprint_text(self) -> str:
        """The text of the imprint; empty if it is on a page elsewhere, or absent."""
        return "" if is_web_address(self.imprint.strip()) else self.imprint.strip()

    def site(
        self,
        navigation: tuple[Entry, ...],
        footer: tuple[Entry, ...],
        search: str = "",
        *,
        has_accounts: bool = False,
    ) -> Site:
        """Return the frame of the pages, with contact and imprint first in its footer."""
        addresses = {path: versioned(path, file) for path, file in self.files.items()}
        return Site(
            name=self.name,
            navigation=navigation,
            footer=(*self._entries(), *footer),
            has_accounts=has_accounts,
            search=search,
            contact=self._contact,
            logo=addresses.get(_LOGO, ""),
            picture="" if self._is_drawing else addresses.get(_LOGO, ""),
            accent=addresses.get(_ACCENT, ""),
        )

    @property
    def _is_drawing(self) -> bool:
        return self.logo is not None and self.logo.media_type == "image/svg+xml"

    @property
    def _contact(self) -> str:
        is_mail = is_mail_address(self.contact)
        return f"mailto:{quote(self.contact, '@')}" if is_mail else self.contact

    def _entries(self) -> tuple[Entry, ...]:
        entries = []
        if self.contact:
            entries.append(Entry(self._contact, CONTACT_NAME))
        if self.imprint.strip():
            entries.append(
                Entry(IMPRINT if self.imprint_text else self.imprint.strip(), IMPRINT_NAME)
            )
        return tuple(entries)


class ImprintView(NamedTuple):
    """The page of the imprint."""

    text: str

    @property
    def paragraphs(self) -> list[list[str]]:
        """The lines of each paragraph; an empty line ends one."""
        paragraphs: list[list[str]] = [[]]
        for line in self.text.splitlines():
            if line.strip():
                paragraphs[-1].append(line.strip())
            elif paragraphs[-1]:
                paragraphs.append([])
        return [lines for lines in paragraphs if lines]


def check_logo(settings: IdentitySettings, say: Callable[[str], None]) -> None:
    """Raise RequestError if the file is no logo; say if there is none."""
    try:
        if settings.logo:
            read_logo(settings)
    except FileNotFoundError:
        say(f"There is no logo {settings.folder / settings.logo}: pages show the mark of IBI.")


def identity_of(settings: IdentitySettings) -> SiteIdentity:
    """Return the identity that settings name; read the logo, once.

    The mark of IBI takes the place of a logo that is missing: files may be lost with a disk, and
    readers need the pages nevertheless. Raises RequestError for a file that is no logo.
    """
    logo = None
    if settings.logo:
        with suppress(FileNotFoundError):
            logo = read_logo(settings)
    return SiteIdentity(
        name=settings.name,
        logo=logo,
        accent=settings.accent,
        contact=settings.contact,
        imprint=settings.imprint,
    )


def read_logo(settings: IdentitySettings) -> StaticFile:
    """Read the logo; raise RequestError if it is not an image that pages may show."""
    try:
        with (settings.folder / settings.logo).open("rb") as file:
            content = file.read(LARGEST_LOGO + 1)
    except FileNotFoundError:
        raise
    except OSError as fault:
        msg = f"logo = {shown(settings.logo)} cannot be read: {fault.strerror}."
        raise RequestError(msg) from None
    if len(content) > LARGEST_LOGO:
        msg = f"logo = {shown(settings.logo)} is too large: at most {LARGEST_LOGO:,} bytes."
        raise RequestError(msg)
    media_type = image_type(content)
    if not media_type:
        msg = f"logo = {shown(settings.logo)} is no image: expected SVG, PNG, WebP or JPEG."
        raise RequestError(msg)
    return StaticFile(content, media_type)


def image_type(content: bytes) -> str:
    """Return the media type of an image by its first bytes; empty if it is none of ours."""
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if content.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    text = content.lstrip(b"\xef\xbb\xbf \t\r\n")
    is_svg = text.startswith(b"<") and b"<svg" in text[:_SVG_ROOT]
    return "image/svg+xml" if is_svg else ""
