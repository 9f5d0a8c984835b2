"""Strings good and nearly good, for the grammars to judge. Seeded: the same seed, the same run."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from ibi import Ibip, Instant
from ibi.identifier.instant import EPOCH
from tests.conformance.grammar import COUNTRIES, LANGUAGES

_ALPHANUM: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_LEGACY: Final = "23456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVXYZ"
_IBIP_ALPHABET: Final = "23456789ABCDEFGHJKLMNPQRSTUWX"
# Characters at which grammars differ: separators, excluded letters, digits of other scripts,
# letters that fold into ASCII, blanks and control characters.
_TROUBLE: Final = "./@-!+:?&=#%()0O1IVYZwx \t\n\r\0\x7fé٣４ſKß\u200b\ufeff_~[]{}|\\^`'\"<>,;*$"
_FORMATS: Final = ("oai_dc", "OAI_DC", "bibtex", "", "oai-dc", "x" * 41)
_VERBS: Final = ("GetLastEdition", "GetMetadata", "GetTranslation", "GetFileList")
_PATHS: Final = (
    *("", "", "", "/", "/a/b.txt", "/Relat%f3rio%20Final.pdf", "/a//b", "/x!:+(pt)"),
    # Such that make a repository name of an IBIp, or nearly.
    *("/2009/09.09.22.01", "/2009/09.09.22.01.pdf", "/2009/13.09.22.01", "/2009/09.09.22.01-NTC"),
)
_SYMBOLS: Final = ("!", ":", "+")


def repository_name(rng: random.Random) -> str:
    words = [_word(rng) for _ in range(rng.randint(0, 3))] + [_last_word(rng)]
    subdomain = ".".join(words) + rng.choice(("", "", "", "."))
    port = rng.choice(("", "", f".{_port(rng)}", f"@{_port(rng)}"))
    return f"{subdomain}/{_word(rng)}{port}/{_suffix(rng)}"


def ibip(rng: random.Random) -> str:
    if rng.random() < 0.5:
        # A word of the grammar alone: rarely does it decode.
        words = ("".join(rng.choices(_IBIP_ALPHABET, k=rng.randint(1, 12))) for _ in range(2))
        return "/".join(words)
    address = rng.choice(
        (
            IPv4Address(rng.getrandbits(32)),
            IPv6Address(rng.getrandbits(128)),
            IPv6Address(rng.getrandbits(16)),
        )
    )
    seconds = EPOCH.seconds + rng.randrange(10 ** rng.randint(1, 11))
    fraction = rng.choice(("", "", "5", "05", "001", f"{rng.randrange(1, 10**9):09}".rstrip("0")))
    label = Ibip.mount(str(address), rng.choice((80, 800, 804, 65535)), Instant(seconds, fraction))
    return label.spelling.lower() if rng.random() < 0.2 else label.spelling


def legacy_label(rng: random.Random) -> str:
    words = ("".join(rng.choices(_LEGACY, k=rng.randint(1, 8))) for _ in range(4))
    return "{}X{}Z{}/{}".format(*words)


def verblist(rng: random.Random) -> str:
    return "+".join(_verb(rng) for _ in range(rng.randint(0, 4)))


def persistent_url(rng: random.Random) -> str:
    label = rng.choice((repository_name, ibip))(rng)
    modifiers = "".join(_modifier(rng) for _ in range(rng.choice((0, 0, 1, 2, 3, 4))))
    path = rng.choice(_PATHS)
    query = rng.choice(("", "", "?", f"?{'&'.join(_pair(rng) for _ in range(rng.randint(1, 3)))}"))
    return f"http://urlib.net/{label}{modifiers}{path}{query}"


def stream(make: Callable[[random.Random], str], seed: int, count: int) -> Iterator[str]:
    """Yield strings, two of three of them mutated once or twice."""
    rng = random.Random(seed)  # noqa: S311  # tests want the same numbers again
    for _ in range(count):
        text = make(rng)
        for _ in range(rng.choice((0, 1, 2))):
            text = _mutated(rng, text)
        yield text


def _mutated(rng: random.Random, text: str) -> str:
    at = rng.randrange(len(text) + 1)
    character = rng.choice(rng.choice((_TROUBLE, _ALPHANUM)))
    return rng.choice(
        (
            text[:at] + text[at + 1 :],
            text[:at] + character + text[at:],
            text[:at] + character + text[at + 1 :],
            text[:at] + text[at + 1 : at + 2] + text[at : at + 1] + text[at + 2 :],
            text[:at],
            text[:at] + text[at : at + 3] + text[at:],
        )
    )


def _word(rng: random.Random) -> str:
    length = rng.choice((1, 2, 3, 8, 62, 63, 64)) if rng.random() < 0.05 else rng.randint(1, 9)
    word = "".join(rng.choices(_ALPHANUM + "--", k=length)).strip("-")
    return word or "a"


def _last_word(rng: random.Random) -> str:
    return rng.choice("abcXYZ") + rng.choice(("", "r", "1", "-9", "om", "rasil"))


def _port(rng: random.Random) -> str:
    return rng.choice(("80", "080", "8080", "1", "0", "65535", "65536", "99999999", "800"))


def _suffix(rng: random.Random) -> str:
    year = rng.choice(("1995", "2000", "2009", "2024", "1900", "0000", "12024", "02013"))
    fields = [
        f"{rng.randint(0, 13):02}",
        f"{rng.choice((0, 1, 15, 28, 29, 30, 31, 32)):02}",
        f"{rng.choice((0, 12, 23, 24)):02}",
        f"{rng.choice((0, 30, 59, 60)):02}",
    ]
    if rng.random() < 0.5:
        fields.append(f"{rng.choice((0, 59, 60, 99)):02}")
        if rng.random() < 0.5:
            fields.append(rng.choice(("0", "5", "05", "50", "123456789", "1234567890123")))
    return f"{year}/{'.'.join(fields)}"


def _language(rng: random.Random) -> str:
    code = rng.choice((*LANGUAGES, "xx", "PT", "p", "por", "iw", ""))
    return code + rng.choice(("", "", f"-{rng.choice((*COUNTRIES, 'XX', 'br', 'B', 'XK', ''))}"))


def _modifier(rng: random.Random) -> str:
    symbol = rng.choice(_SYMBOLS)
    parameter = rng.choice(("", "", f"({_language(rng)})", f"({rng.choice(_FORMATS)})"))
    return symbol + parameter


def _verb(rng: random.Random) -> str:
    verb = rng.choice((*_VERBS, "getmetadata", "GetFoo"))
    if verb == "GetTranslation" and rng.random() < 0.5:
        return f"{verb}({_language(rng)})"
    if verb.lower() == "getmetadata" and rng.random() < 0.5:
        return f"{verb}({rng.choice(_FORMATS)})"
    return verb


def _pair(rng: random.Random) -> str:
    return rng.choice(
        (
            "a=b",
            "a=",
            "=b",
            "a",
            "a=b=c",
            "x.y=1%202",
            "q=#?/",
            "ibiurl.language=pt",
            "ibiurl.requiredsite=urlib.net",
            "ibiurl.requireditemstatus=Original",
            "ibiurl.requireditemstatus=Copy",
            f"ibiurl.verblist={verblist(rng)}",
        )
    )
