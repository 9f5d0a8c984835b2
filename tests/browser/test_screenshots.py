"""Writes the pictures of the documentation: `make screenshots`."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Final

import pytest
from PIL import Image

from tests.support.scenes.published_items import Published
from tests.support.tools.browsers import Browsers, Visitor

pytestmark = pytest.mark.screenshots

PICTURES: Final = Path(__file__).parents[2] / "docs" / "pictures"
LARGEST: Final = 150_000
"""Bytes of a picture."""
WIDE: Final = Visitor()
PHONE: Final = Visitor(language="pt", width=390, scheme="dark")


def addresses(library: Published) -> dict[str, tuple[Visitor, str]]:
    """Return what each picture shows, by its name."""
    return {
        "archive": (WIDE, f"{library.archive}/"),
        "search": (WIDE, f"{library.archive}/search?q=estuary"),
        "item": (WIDE, library.page("dataset")),
        "phone": (PHONE, library.page("report")),
        "collection": (WIDE, f"{library.archive}/collections/{library.labels['collection']}"),
        "deleted": (WIDE, library.cited("withdrawn")),
        "explain": (WIDE, f"{library.resolver}/explain?url={library.labels['note']}!"),
    }


def test_pictures_of_pages(library: Published, browsers: Browsers) -> None:
    PICTURES.mkdir(exist_ok=True)
    for name, (visitor, url) in addresses(library).items():
        with browsers.context(visitor) as context:
            page = context.new_page()
            page.set_viewport_size({"width": visitor.width, "height": 1000})
            page.goto(url, wait_until="networkidle")
            picture = Image.open(io.BytesIO(page.screenshot()))
            path = PICTURES / f"{name}.webp"
            picture.save(path, quality=88, method=6)
            assert path.stat().st_size < LARGEST
