"""Markdown as HTML, by markdown-it-py: no HTML of the text itself, no images, only web links."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from ibi.wire.addresses import is_web_address

MAX_HTML: Final = 60_000
"""Characters of HTML at most: a few texts become much longer than they are."""
MAX_COLUMNS: Final = 40
"""Columns of a table at most: the parser completes every row of a wide table."""
_LOWER: Final = {"h1": "h3", "h2": "h4", "h3": "h5"}
"""The tags of headings: a section of a page has a heading of the second level."""

_PARSER: Final = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def markdown_html(text: str) -> Markup | None:
    """Return a text as HTML; None if it is too long or its tables are too wide."""
    if any(line.count("|") > MAX_COLUMNS for line in text.splitlines()):
        return None
    tokens = list(_harmless(_PARSER.parse(text)))
    html = _PARSER.renderer.render(tokens, _PARSER.options, {})
    return Markup(html) if len(html) <= MAX_HTML else None  # noqa: S704  # its text is escaped


def _harmless(tokens: Iterable[Token]) -> Iterator[Token]:
    """Yield tokens without attributes, but for addresses of the web; text in place of images."""
    is_linked: list[bool] = []
    for token in tokens:
        attributes: dict[str, str | int | float] = {}
        tag, hidden = token.tag, token.hidden
        if token.type == "link_open":
            address = str(token.attrs.get("href", ""))
            is_linked.append(is_web_address(address))
            attributes = {"href": address, "rel": "nofollow noopener"}
        if token.type in {"link_open", "link_close"}:
            hidden = not (is_linked.pop() if token.type == "link_close" else is_linked[-1])
        elif token.type.startswith("heading_"):
            tag = _LOWER.get(tag, "h6")
        elif token.type == "ordered_list_open" and "start" in token.attrs:
            attributes = {"start": int(token.attrs["start"])}
        elif token.type == "image":
            yield Token("text", "", 0, content=token.content)
            continue
        yield replace(
            token,
            tag=tag,
            attrs={} if hidden else attributes,
            hidden=hidden,
            info="",  # the language of a block of code, which would become a class
            children=None if token.children is None else list(_harmless(token.children)),
        )
