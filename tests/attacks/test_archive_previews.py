"""Threats, rows 9 and 10: previews of hostile files on the page of an item, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import quote

import pytest

from tests.support.hostile.script_payloads import VECTORS
from tests.support.servers.attacked import FULL
from tests.support.servers.attacked_archive import attacked
from tests.support.tools.chromium import Chromium, chromium
from tests.support.waiting import wait_until

RUN: Final = "top.document.title=String(99)"
"""Script that changes the title of the window; without quotes, which would end an attribute."""
HTML: Final = "\n".join(VECTORS).replace("alert(1)", RUN)
MARKDOWN: Final = f"""# Title <script>{RUN}</script>

<img src=x onerror={RUN}>

[link](javascript:{RUN}) <javascript:{RUN}> [x]: JaVaScRiPt:{RUN} ![i](javascript:{RUN})
[d](data:text/html,<script>{RUN}</script>) [a](http://a.example/" onmouseover="{RUN})

```" onload={RUN}
{HTML}
```

{HTML}
"""
DRAWING: Final = (
    f'<svg xmlns="http://www.w3.org/2000/svg" onload="{RUN}"><script>{RUN}</script></svg>'
)
FILES: Final = {
    "text.txt": (HTML, ""),
    "data.json": (HTML, ""),
    "markdown.md": (MARKDOWN, ""),
    "table.csv": (HTML.replace("\n", ",") + "\n" + HTML, ""),
    "table.tsv": (HTML.replace("\n", "\t"), ""),
    "drawing.svg": (DRAWING, ""),
    "image.png": (HTML, ""),
    "declared": (HTML, "image/gif"),
    "sound.mp3": (HTML, ""),
    "film.webm": (HTML, ""),
    "a'onerror=alert(1)&amp;.txt": (HTML, ""),
}
"""The content and the declared type of each file, by its name."""
QUERIES: Final = {
    **{name: f"?preview={quote(name)}" for name in FILES},
    "hostile query": f"?preview={quote(HTML)}",
    "no query": "",
}
MOMENT: Final = 0.5 if FULL else 0.1
"""Seconds in which a page that was shown goes on to do what it does."""
BITING: Final = {"text.txt", "data.json", "markdown.md", "table.csv", "table.tsv", "drawing.svg"}
"""Files whose previews run script without the guards."""

WITHOUT_GUARDS: Final = """
from dataclasses import replace

from markupsafe import Markup

from ibi.archive.web.delivery import file_delivery
from ibi.archive.web.item import previews
from ibi.foundation.pages import response

file_delivery._SANDBOX = response.PAGE_HEADERS["Content-Security-Policy"] = "img-src *"
excerpt, made = previews._excerpt, previews.Previews.made


def unescaped(file, beginning):
    text = Markup(beginning.decode())
    return replace(excerpt(file, beginning), text=text, html=text, rows=((text,),))


async def framed(self, item, file):
    shown = await made(self, item, file)
    if shown is None or shown.kind != "image":
        return shown
    address = f"/col/{item.forms.label.spelling}/doc/{file.path}"
    return replace(shown, kind="text", text=Markup(f"<iframe src='{address}'></iframe>"))


previews._excerpt, previews.Previews.made = unescaped, framed
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with chromium() as started:
        yield started


def previews_that_ran(folder: Path, browser: Chromium, without: str = "") -> set[str]:
    """Open the page of an item with the preview of each file; return those that ran script."""
    found = set()
    with attacked(folder, without) as archive:
        id_ = archive.open_deposit(target="text.txt")
        for name, (content, declared) in FILES.items():
            named = {"content_type": declared} if declared else {}
            assert archive.send(id_, name, content.encode(), **named).status == 201
        item = archive.item(archive.complete(id_)["rep"])
        address = f"{archive.address}/col/{item['metadata']['rep']}/doc/metadata"
        for name, query in QUERIES.items():
            with browser.page() as page:
                assert page.open(address + query)
                is_awaited = bool(without) and name in BITING
                browser.wait_for(lambda _: False, MOMENT)
                if is_awaited:
                    wait_until(lambda: has_run(browser))
                if has_run(browser):
                    found.add(name)
                elif name in FILES:
                    assert '"preview"' in page.dom(), name
    return found


def has_run(browser: Chromium) -> bool:
    """Tell whether script changed the title of a window."""
    return any(each["title"] == "99" for each in browser.targets())


def test_no_preview_runs_script(tmp_path: Path, browser: Chromium) -> None:
    assert previews_that_ran(tmp_path, browser) == set()


def test_the_previews_bite(tmp_path: Path, browser: Chromium) -> None:
    """The twin: the same files without escaping, sandbox and policy."""
    assert previews_that_ran(tmp_path, browser, WITHOUT_GUARDS) >= BITING
