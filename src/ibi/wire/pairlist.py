"""The pair list: the notation of every answer of the protocol (004, section 4.2).

    archiveaddress mtc-m16d.sid.inpe.br
    ibi {rep sid.inpe.br/mtc-m19/2013/09.04.12.27.57 ibip 8JMKD3MGP7W/3EPGUE5}

The first archives are written in Tcl, for which this is a list. It is therefore parsed as Tcl 8.6
parses a list, and written so that both Tcl and the standard's narrower grammar accept it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

from ibi.errors import PairListError
from ibi.wire.percent_encoding import percent_encoded

MAX_LIST: Final = 65_536
"""The longest list in characters. The longest answer of the standard, Example 7.2, has 4,000."""

# Table 4.2: Rules defining the formation of a list of pairs.
#
#   lista-de-pares = par *(espaco par)
#   par            = nome 1*SP valor
#   nome           = palavra
#   valor          = palavra | ("{" lista "}")
#   lista          = palavra 1*(SP palavra)
#   espaco         = SP | CRLF
#   palavra        = 1*caractere
#   caractere      = %x21-7A | %x7C | %x7E
#
# LF is printed %x0D: %x0A is meant. The empty value {} is missing, which section 7.2 demands.
#
# A character that no word can have is percent-encoded, as the section prescribes for what is not
# ASCII; so is what Tcl would interpret: a backslash, and a quotation mark that begins a word.
_NO_CHARACTER: Final = re.compile(r"[^!-\[\]-z|~ ]")
_LEADING_QUOTE: Final = re.compile(r'(?:^|(?<= ))"')
_LOOSE_BLANK: Final = re.compile(r"^ |(?<= ) | $")
# Words to which none of that applies, as most: one blank between each two.
_PLAIN: Final = re.compile(r"[!#-\[\]-z|~][!-\[\]-z|~]*(?: [!#-\[\]-z|~][!-\[\]-z|~]*)*")
_LINE_END: Final = "\r\n"


def encode(pairs: Mapping[str, str]) -> str:
    """Return the pairs as a list, one a line, sorted by name."""
    written: dict[str, str] = {}
    for name, value in pairs.items():
        word = _word(name)
        if not word:
            raise PairListError(name, position=0, expected="a name")
        if word in written:
            raise PairListError(name, position=0, expected="every name once", found=name)
        words = escaped(value)
        written[word] = words if words and " " not in words else f"{{{words}}}"
    return _LINE_END.join(f"{word} {written[word]}" for word in sorted(written))


@lru_cache(maxsize=1024)  # the protocol has some dozens, and as many again for each language
def _word(name: str) -> str:
    return escaped(name).replace(" ", "%20")


def escaped(value: str) -> str:
    """Return a value as it is written in a list; percent signs stay, so that URLs stay URLs."""
    if _PLAIN.fullmatch(value):
        return value
    value = _NO_CHARACTER.sub(percent_encoded, value)
    value = _LEADING_QUOTE.sub("%22", value)
    return _LOOSE_BLANK.sub("%20", value)


def decode(text: bytes | str) -> dict[str, str]:
    """Parse what Tcl parses as a list of names and values, if it is ASCII and has no name twice."""
    if isinstance(text, bytes):
        text = text.decode("iso-8859-1")
    _check_characters(text)
    pairs: dict[str, str] = {}
    elements = _elements(text)
    for at, name in elements:
        if name in pairs:
            raise PairListError(text, position=at, expected="every name once", found=name)
        value = next(elements, None)
        if value is None:
            raise PairListError(text, position=len(text), expected="a value for the last name")
        pairs[name] = value[1]
    return pairs


def _check_characters(text: str) -> None:
    if len(text) > MAX_LIST:
        expected = f"at most {MAX_LIST} characters"
        raise PairListError(text, position=MAX_LIST, expected=expected, found=text[MAX_LIST:])
    foreign = _NOT_ASCII.search(text)
    if foreign:
        raise PairListError(text, position=foreign.start(), expected="ASCII", found=foreign[0])


# What follows is TclFindElement and TclCopyAndCollapse of Tcl 8.6. An element is bare, or in
# quotation marks, or in braces; a backslash escapes everywhere but in braces, where it only keeps
# a brace from counting.
_NOT_ASCII: Final = re.compile(r"[^\x00-\x7f]")
_SPACE: Final = re.compile(r"[ \t\n\v\f\r]*")
_BARE: Final = re.compile(r"(?:[^\\ \t\n\v\f\r]|\\\n[ \t]*|\\[^\n])*\\?")
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\[\x00-\x7f])*)"')
_BRACE: Final = re.compile(r"\\[\x00-\x7f]|[{}]")


def _elements(text: str) -> Iterator[tuple[int, str]]:
    """Yield each element with the position of its beginning."""
    at = _after_space(text, 0)
    while at < len(text):
        if text[at] == "{":
            end = _closing_brace(text, at) + 1
            element = text[at + 1 : end - 1]
        elif text[at] == '"':
            quoted = _QUOTED.match(text, at)
            if quoted is None:
                raise PairListError(text, position=at, expected="a closing quotation mark")
            end, element = quoted.end(), _collapsed(quoted[1])
        else:
            bare = _BARE.match(text, at)
            assert bare is not None  # noqa: S101  # it matches the empty text too
            end, element = bare.end(), _collapsed(bare[0])
        following = _after_space(text, end)
        if following == end < len(text):
            expected = "a blank after the closing brace or quotation mark"
            raise PairListError(text, position=end, expected=expected, found=text[end:])
        yield at, element
        at = following


def _after_space(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def _closing_brace(text: str, opening: int) -> int:
    depth = 0
    for brace in _BRACE.finditer(text, opening):
        depth += {"{": 1, "}": -1}.get(brace[0], 0)
        if depth == 0:
            return brace.start()
    raise PairListError(text, position=opening, expected="a closing brace")


# TclParseBackslash. A third octal digit is parsed only if the number stays below 256.
_BACKSLASH: Final = re.compile(
    r"\\(?:(\n)[ \t]*|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})"
    r"|([0-3][0-7]{0,2}|[4-7][0-7]?)|([^\n]))"
)
_CONTROLS: Final = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True))


def _collapsed(element: str) -> str:
    return _BACKSLASH.sub(_substituted, element) if "\\" in element else element


def _substituted(backslash: re.Match[str]) -> str:
    line_end, byte, short, long, octal, other = backslash.groups()
    if line_end:
        return " "
    if octal:
        return chr(int(octal, 8))
    if other:
        return _CONTROLS.get(other, other)
    if long:
        return _long(long)
    return _character(int(byte or short, 16))


def _long(digits: str) -> str:
    """Parse digits only as long as the number cannot exceed the last code point."""
    read = 0
    while read < len(digits) and int(digits[:read] or "0", 16) <= 0x10FFF:  # noqa: PLR2004
        read += 1
    return _character(int(digits[:read], 16)) + digits[read:]


def _character(number: int) -> str:
    """Return a character; U+FFFD for surrogates, and for what Tcl 8.6 cannot represent.

    Tcl keeps surrogates, but no program that reads an answer could write them.
    """
    good = number < 0xD800 or 0xDFFF < number <= 0xFFFF  # noqa: PLR2004  # planes of Unicode
    return chr(number) if good else "\ufffd"
