r"""LaTeX in texts of BibTeX: `{\"o}`, `\c{c}`, `\textendash`, braces.

A converter of whole documents would expand macros and read files. A text of BibTeX needs accents
and symbols only: they are read here in one pass, in linear time, by the table of pylatexenc.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Final

_TOKEN: Final = re.compile(r"\\([A-Za-z]{1,40})[ \t\n]{0,20}|\\([^A-Za-z])|([{}~$])|(-{2,3})")

_COMBINING: Final = {
    "`": "\u0300",
    "'": "\u0301",
    "^": "\u0302",
    "~": "\u0303",
    "=": "\u0304",
    "u": "\u0306",
    ".": "\u0307",
    '"': "\u0308",
    "r": "\u030a",
    "H": "\u030b",
    "v": "\u030c",
    "d": "\u0323",
    "c": "\u0327",
    "k": "\u0328",
    "b": "\u0331",
}
"""The combining character of each command of an accent."""
_IGNORED: Final = frozenset(
    (
        *("emph", "textit", "textbf", "textrm", "textsc", "textsf", "texttt", "textup", "text"),
        *(
            "mathrm",
            "mathit",
            "mathbf",
            "mathcal",
            "em",
            "it",
            "bf",
            "rm",
            "sc",
            "tt",
            "ensuremath",
        ),
        *("url", "href", "mbox", "hbox", "noopsort", "relax", "protect", "enquote", "textnormal"),
    )
)
"""Commands that change how a text looks, and not what it says."""
_OWN: Final = {
    "i": "\u0131",
    "j": "\u0237",
    "textbraceleft": "{",
    "textbraceright": "}",
    "ldots": "…",
    "dots": "…",
    "textquotesingle": "'",
    "textgreater": ">",
    "textless": "<",
    "textbar": "|",
    "slash": "/",
}
_DASHES: Final = {"--": "\N{EN DASH}", "---": "\N{EM DASH}"}
_BARE: Final = {"\u0131": "i", "\u0237": "j"}
"""A letter without its dot, which an accent takes from the letter with the dot."""


@cache
def _symbols() -> dict[str, str]:
    """Return the symbols by the names of their commands; made when they are first needed."""
    from pylatexenc.latexencode import (  # noqa: PLC0415  # of no use elsewhere
        get_builtin_uni2latex_dict,
    )

    names: dict[str, str] = {}
    for code, latex in get_builtin_uni2latex_dict().items():
        bare = latex.removeprefix("\\ensuremath{").removesuffix("}")
        if bare.startswith("\\") and bare[1:].isalpha():
            names.setdefault(bare[1:], chr(code))
    return names | _OWN


class _Decoder:
    def __init__(self) -> None:
        self.unknown: list[str] = []
        self._out: list[str] = []
        self._accents: list[str] = []

    def literal(self, text: str) -> None:
        """Write a text; accents that were met before it belong to its first letter."""
        if self._accents:
            text = text.lstrip()
        if not text:
            return
        if self._accents:
            first = _BARE.get(text[0], text[0]) + "".join(reversed(self._accents))
            self._accents.clear()
            text = unicodedata.normalize("NFC", first) + text[1:]
        self._out.append(text)

    def command(self, name: str) -> None:
        if name in _COMBINING:
            self._accents.append(_COMBINING[name])
        elif name in _symbols():
            self.literal(_symbols()[name])
        elif name not in _IGNORED:
            self.unknown.append(name)

    def sign(self, sign: str) -> None:
        """Write a command of one character that is no letter."""
        if sign in _COMBINING:
            self._accents.append(_COMBINING[sign])
        elif sign in "-/":
            return
        else:
            self.literal(" " if sign in "\\,;: \n\t" else sign)

    def mark(self, mark: str) -> None:
        if mark == "}":
            self._accents.clear()
        elif mark == "~":
            self.literal("\N{NO-BREAK SPACE}")

    def text(self) -> str:
        return "".join(self._out)


def decoded(text: str) -> tuple[str, list[str]]:
    """Return a text without LaTeX, and the commands that are not known."""
    if not any(sign in text for sign in "\\{}~$-"):
        return text, []
    decoder = _Decoder()
    at = 0
    for token in _TOKEN.finditer(text):
        decoder.literal(text[at : token.start()])
        at = token.end()
        name, sign, mark, dash = token.groups()
        if name:
            decoder.command(name)
        elif sign:
            decoder.sign(sign)
        elif mark:
            decoder.mark(mark)
        else:
            decoder.literal(_DASHES[dash])
    decoder.literal(text[at:])
    return decoder.text(), decoder.unknown
