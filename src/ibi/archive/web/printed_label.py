"""What is printed beside a label, so that it comes back from paper: check character and QR code."""

from __future__ import annotations

from functools import lru_cache
from io import BytesIO
from itertools import groupby
from typing import Final, NamedTuple

import segno

from ibi.identifier.check_character import check_character
from ibi.identifier.ibip import Ibip
from ibi.identifier.label import Label

QUIET_ZONE: Final = 4
"""Light squares around a printed code, without which a camera does not find it (ISO/IEC 18004)."""
_SQUARE: Final = 8
"""Pixels of a square, where a program that opens the image does not scale it."""


class QrCode(NamedTuple):
    """A QR code without its margin."""

    size: int
    """Squares on each side."""
    lines: str
    """The dark squares as horizontal lines: the attribute `d` of an SVG path."""


@lru_cache(maxsize=4096)
def qr_code(text: str) -> QrCode:
    """Return the QR code of a text; making one takes longer than the rest of a page."""
    rows = segno.make_qr(text, error="m").matrix
    lines = []
    for number, row in enumerate(rows):
        place = 0
        for is_dark, squares in groupby(row):
            length = len(list(squares))
            if is_dark:
                lines.append(f"M{place} {number}.5h{length}")
            place += length
    return QrCode(len(rows), "".join(lines))


def qr_image(text: str) -> bytes:
    """Return the QR code of a text as an SVG image, which stands for itself on any paper."""
    image = BytesIO()
    code = segno.make_qr(text, error="m")
    code.save(image, kind="svg", border=QUIET_ZONE, scale=_SQUARE, light="white", title=text)
    return image.getvalue()


def check_character_of(label: Label) -> str:
    """Return the check character of a label; empty if its form has none."""
    return check_character(label) if isinstance(label, Ibip) else ""
