"""Finds all pages of an installation by following their links, as a robot would."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, urldefrag, urljoin, urlsplit

import html5rdf
import urllib3

_MOST: Final = 400
"""Pages that are read."""
_HTML: Final = "text/html"
_CHOICE: Final = re.compile(r"(?:^|&)(?:lang|ibiurl\.language)=")
"""How a link chooses the language of a page."""


@dataclass(frozen=True, slots=True)
class FoundPage:
    """A page, and what was answered at its address."""

    url: str
    status: int
    text: str

    @property
    def shape(self) -> str:
        """What the address has in common with those of other pages of the same kind."""
        return shape_of(self.url)

    @property
    def heading(self) -> str:
        """The text of the heading of the page."""
        tree = html5rdf.parse(self.text, namespaceHTMLElements=False)
        return " ".join("".join(next(tree.iter("h1")).itertext()).split())

    @property
    def is_indexed(self) -> bool:
        """Whether search engines may list the page."""
        return "noindex" not in self.text.partition("</head>")[0]


def shape_of(url: str) -> str:
    """Return a URL without labels, names and values."""
    parts = urlsplit(url)
    shape: list[str] = []
    for word in parts.path.split("/"):
        masked = re.match(r".*\d[^:!+]*", word)
        if masked:
            while shape and (shape[-1] == "#" or re.fullmatch(r"[\w.-]+", shape[-1])):
                shape.pop()
        shape.append(f"#{word[masked.end() :]}" if masked else word)
    keys = sorted({key for key, _ in parse_qsl(parts.query, keep_blank_values=True)})
    return f"{parts.port}{'/'.join(shape)}?{'&'.join(keys)}"


def _is_page(headers: Mapping[str, str]) -> bool:
    """Tell pages from files of items, whose scripts a sandbox stops."""
    is_html = headers.get("Content-Type", "").startswith(_HTML)
    return is_html and "sandbox" not in headers.get("Content-Security-Policy", "")


def crawl(starts: Iterable[str], language: str, each: int = 2) -> list[FoundPage]:
    """Return the pages that the starts lead to, at most `each` of a shape.

    The starts, and all that they link to, are always there.

    Addresses of other hosts, other languages, and files of items are left out.
    """
    pool = urllib3.PoolManager()
    starts = list(starts)
    hosts = {urlsplit(url).netloc for url in starts}
    waiting, known = deque(starts), set(starts)
    shapes: Counter[str] = Counter()
    found: list[FoundPage] = []
    while waiting and len(found) < _MOST:
        url = waiting.popleft()
        answer = pool.request(
            "GET",
            url,
            redirect=False,
            headers={"Accept": f"{_HTML},*/*;q=0.8", "Accept-Language": language},
        )
        links = []
        if answer.status in {301, 302, 303, 307, 308}:
            links = [answer.headers["Location"]]
        elif _is_page(answer.headers):
            page = FoundPage(url, answer.status, answer.data.decode("utf-8"))
            found.append(page)
            tree = html5rdf.parse(page.text, namespaceHTMLElements=False)
            links = [link.get("href") or "" for link in tree.iter("a")]
        for link in links:
            target = urldefrag(urljoin(url, link)).url
            parts = urlsplit(target)
            if target in known or parts.netloc not in hosts or _CHOICE.search(parts.query):
                continue
            known.add(target)
            shape = shape_of(target)
            shapes[shape] += 1
            if shapes[shape] <= each or url in starts:
                waiting.append(target)
    return found
