"""Where our strict reading is not the standard's grammar: each Decision by name.

A Decision that narrows says which texts of the grammar are no label after all; it is written
here once more, apart from our code and in the plainest way, so that the two can disagree. One
that widens says which texts beyond the grammar are taken.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Iterator
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Final

from tests.conformance.grammar import accepts

_BASE27: Final = "23456789ABCDEFGHJKLMNPQRSTU"


def _number(numeral: str) -> int:
    return sum(_BASE27.index(digit) * 27**place for place, digit in enumerate(numeral[::-1]))


def _text(number: int, digits: str) -> str:
    text = ""
    while number:
        number, digit = divmod(number, len(digits))
        text = digits[digit] + text
    return text


def is_too_long(text: str) -> bool:
    return len(text) > 255


# --- 003, Table 6.1 -------------------------------------------------------------------------


def has_no_real_port(text: str) -> bool:
    port = re.search(r"[.@]([0-9]+)$", text.split("/")[1])
    return port is not None and not 1 <= int(port[1]) <= 65535


def has_no_real_time(text: str) -> bool:
    year, date = text.split("/")[2:4]
    month, day, hour, minute, *second = (int(field) for field in date.split(".")[:5])
    if not 1 <= month <= 12 or hour > 23 or minute > 59 or second > [59]:
        return True
    # The calendar repeats after 400 years.
    return not 1 <= day <= calendar.monthrange(2000 + int(year) % 400, month)[1]


def has_no_real_host(text: str) -> bool:
    subdomain, word = text.split("/")[:2]
    host = f"{re.split('[.@]', word)[0]}.{subdomain.rstrip('.')}"
    return len(host) > 253 or any(len(each) > 63 for each in host.split("."))


REPOSITORY_NAME_NARROWER: Final[dict[str, Callable[[str], bool]]] = {
    "a label has at most 255 characters (threats, row 12)": is_too_long,
    "a port is a number from 1 to 65535 (semantics)": has_no_real_port,
    "the date is a real UTC time, without a second 60 (semantics)": has_no_real_time,
    "the host obeys RFC 1034: 63 characters a word, 253 in all (semantics)": has_no_real_host,
}

# --- 003, Table 7.1 -------------------------------------------------------------------------


def has_no_separator(text: str) -> bool:
    return not re.search("[WX]", text.split("/", maxsplit=1)[0].upper())


def has_no_address(text: str) -> bool:
    prefix = text.split("/", maxsplit=1)[0].upper()
    found = re.match("([^WX]*)([WX])", prefix)
    if not found:
        return False
    if not found[1]:
        return True
    is_ipv4 = found[2] == "W"
    decoded = _text(_number(found[1]), "0123456789." if is_ipv4 else "0123456789abcdef:")
    if decoded.startswith((".", ":")) and not decoded.startswith("::"):
        decoded = f"0{decoded}"
    try:
        IPv4Address(decoded) if is_ipv4 else IPv6Address(decoded)
    except AddressValueError:
        return True
    return False


def has_no_port(text: str) -> bool:
    found = re.search("[WX](.*)", text.split("/", maxsplit=1)[0].upper())
    if not found or not found[1]:
        return False
    return bool(re.search("[WX]", found[1])) or not 1 <= _number(found[1]) <= 65535


def has_no_instant(text: str) -> bool:
    return not re.fullmatch("[^WX]+(W[^WX]+)?", text.split("/")[1].upper())


IBIP_NARROWER: Final[dict[str, Callable[[str], bool]]] = {
    "a label has at most 255 characters (threats, row 12)": is_too_long,
    "a prefix has a separator, W or X": has_no_separator,
    "a prefix begins with an address": has_no_address,
    "a prefix ends with a port from 1 to 65535, or nothing": has_no_port,
    "a suffix is seconds, and after W a fraction (Algorithm 6)": has_no_instant,
}

# --- 004, Table 6.4 -------------------------------------------------------------------------

COMPOSITION: Final = re.compile(r"(?:!\+?|\+!?)?(?::\+?)?")


def has_unknown_language(text: str) -> bool:
    """The rules idioma and pais of Table 6.4 are two letters, those of Table A.1 a list."""
    parameters = re.findall(r"GetTranslation\(([^()]*)\)", text, re.IGNORECASE)
    return any(not is_known(parameter) for parameter in parameters)


def is_known(language: str) -> bool:
    code, _, country = language.partition("-")
    withdrawn = {"in", "iw", "ji", "jw", "mo", "sh"}
    known = accepts("idioma", code) or code.lower() in withdrawn
    return known and (not country or accepts("pais", country) or country.upper() == "XK")


def widened_verblist(verblist: str) -> str:
    """Return the list with what our wider Decisions take put as the grammar has it."""
    oai = re.sub(r"((?ai:GetMetadata))\([A-Za-z][A-Za-z0-9_-]{0,39}\)", r"\1", verblist)
    return oai.replace(" ", "+")


# --- 004, Table 6.1 -------------------------------------------------------------------------

_BASE53: Final = "[2-9a-km-zA-HJ-NP-V]"
_LEGACY: Final = re.compile(
    f"{_BASE53}+(?:X{_BASE53}+)*Z(?:{_BASE53}+(?:Y{_BASE53}*)?)?/{_BASE53}+"
)
_AFTER_RESOLVER: Final = re.compile(r"(?ai:http://urlib\.net/)(.*)", re.DOTALL)


def readings(url: str) -> Iterator[tuple[str, str, str]]:
    """Yield rule, label and rest of the ways in which a URL may be read.

    The longer one comes first: an identifier ends where its grammar ends (longest match).
    """
    rest = _AFTER_RESOLVER.fullmatch(url)
    if not rest:
        return
    for rule, words in (("URL-repository", 4), ("URL-IBIp", 2), ("legacy", 2)):
        label = re.match(rf"(?:[^/?]*/){{{words - 1}}}[^/?!+:]*", rest[1])
        if label:
            yield rule, label[0], rest[1][label.end() :]


def is_label(rule: str, label: str) -> bool:
    """Tell whether the label is one by the grammar and by the Decisions on labels."""
    if rule == "legacy":
        return _LEGACY.fullmatch(label) is not None and not is_too_long(label)
    grammar, narrower = {
        "URL-repository": ("repository", REPOSITORY_NAME_NARROWER),
        "URL-IBIp": ("IBIp", IBIP_NARROWER),
    }[rule]
    return accepts(grammar, label) and not any(decides(label) for decides in narrower.values())


def as_printed(rule: str, text: str) -> tuple[str, str]:
    """Return a rule of the grammar and the URL for it.

    Legacy labels, which the grammar does not know, are IBIs too: an IBIp stands in for one.
    """
    if rule != "legacy":
        return rule, widened(text)
    _, label, _ = next(each for each in readings(at_urlib(text)) if each[0] == rule)
    return "URL-IBIp", widened(at_urlib(text).replace(label, "LK47B6W/362SFKH", 1))


def _verblists(rest: str) -> list[str]:
    pairs = rest.partition("?")[2].split("&")
    return [pair.partition("=")[2] for pair in pairs if _is(pair, "verblist")]


def _is(pair: str, name: str) -> bool:
    return pair.partition("=")[0] == f"ibiurl.{name}"


def _verbs(rest: str) -> list[tuple[str, str]]:
    """Return symbol and parameter of each modifier and of each verb not among the modifiers."""
    tail = re.match(r"(?:[!+:](?:\([^()/?]*\))?)*", rest)
    found = re.findall(r"([!+:])(?:\(([^()/?]*)\))?", tail[0]) if tail else []
    modifiers = [(symbol, parameter.lower()) for symbol, parameter in found]
    symbols = {"getlastedition": "!", "getmetadata": ":", "gettranslation": "+"}
    listed = []
    for verb in "+".join(_verblists(rest)).lower().split("+"):
        name, _, parameter = verb.rstrip(")").partition("(")
        if name in symbols:
            listed.append((symbols[name], parameter))
    # What each asks of: a translation after the metadata is theirs, all else is the item's.
    seen = _asked(modifiers)
    return modifiers + [
        verb
        for at, verb in enumerate(listed)
        if _asked(listed)[at] not in seen and _asked(listed)[at] not in _asked(listed)[:at]
    ]


def _asked(verbs: list[tuple[str, str]]) -> list[str]:
    spelled = [f"{symbol}{parameter}" for symbol, parameter in verbs]
    first = next((at for at, (symbol, _) in enumerate(verbs) if symbol == ":"), len(verbs))
    return [
        f"{each} of metadata" if at > first and each[0] == "+" else each
        for at, each in enumerate(spelled)
    ]


def is_in_no_order_of_table_6_2(rest: str) -> bool:
    return not COMPOSITION.fullmatch("".join(symbol for symbol, _ in _verbs(rest)))


def has_a_pair_that_means_nothing(rest: str) -> bool:
    pairs = rest.partition("?")[2].split("&")
    statuses = [pair.partition("=")[2] for pair in pairs if _is(pair, "requireditemstatus")]
    if any(status.lower() != "original" for status in statuses):
        return True
    verblists = [widened_verblist(verblist) for verblist in _verblists(rest)]
    return any(
        not accepts("lista-de-verbos", verblist) or has_unknown_language(verblist)
        for verblist in verblists
    )


def is_over_8_kb(rest: str) -> bool:
    return len(rest) > 8192


PERSISTENT_URL_NARROWER: Final[dict[str, Callable[[str], bool]]] = {
    "a persistent URL has at most 8192 characters (threats, row 12)": is_over_8_kb,
    "modifiers and verbs together stand in an order of Table 6.2": is_in_no_order_of_table_6_2,
    "ibiurl.requireditemstatus is Original, ibiurl.verblist a list of verbs (Table 6.3)": (
        has_a_pair_that_means_nothing
    ),
}


def at_urlib(url: str) -> str:
    """Return the URL with the one resolver of the grammar: any will do, by http or https."""
    return re.sub(r"^(?ai:https?)://[A-Za-z0-9._~%!$&'()*+,;=:@\[\]-]+/", "http://urlib.net/", url)


def widened(url: str) -> str:
    """Return the URL with what our wider Decisions take put as the grammar has it.

    Archives may offer more formats of metadata than oai_dc; languages and countries are those
    of maintained tables, which have grown since appendix A.
    """
    head, mark, query = at_urlib(url).partition("?")
    head = re.sub(r":\([A-Za-z][A-Za-z0-9_-]{0,39}\)", ":(oai_dc)", head)
    return (
        re.sub(
            r"\+\(([A-Za-z]{2}(?:-[A-Za-z]{2})?)\)",
            lambda language: "+(pt)" if is_known(language[1]) else language[0],
            head,
        )
        + mark
        + query
    )
