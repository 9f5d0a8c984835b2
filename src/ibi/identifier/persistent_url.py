"""The persistent URL: a label, and which part of its item is requested (004, section 6.1).

    http://resolver/ <ibi> [mdf] [path] ["?" query]

The label is the longest match of its grammar.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote, unquote_to_bytes

from ibi.errors import LanguageError, PersistentUrlError, ReadingError, Sentence
from ibi.identifier.cleanup import Cleaned, CleanUp, clean, reopened, scheme_and_host, stripped
from ibi.identifier.instant import Instant
from ibi.identifier.label import Label, LabelPlace, bounded, locate, lost
from ibi.identifier.language import Language
from ibi.identifier.verbs import (
    MAX_VERBS,
    GetMetadata,
    Verb,
    is_composition,
    misplaced,
    read_modifiers,
    read_verblist,
    united,
)

# Table 6.1: Rules defining the formation of a persistent URL.
#
#   URL-persistente = "http://urlib.net/" IBI [mdf] [path-absolute] ["?" pergunta]
#   pergunta        = [par ["&" par]]
#   par             = nome "=" valor
#   nome            = 1*caractere
#   valor           = *caractere
#   caractere       = %x21-25 | %x27-3C | %x3E-7E ; ASCII without & and =
#
# It prints two pairs at the most; any number is meant, as Table 6.3 alone has two and those of the
# item are added. Any resolver is accepted, by http or https, except in a strict reading, which
# accepts this grammar and no more.
_STRICT_PAIR: Final = re.compile(r"[!-%'-<>-~]+=[!-%'-<>-~]*")
# RFC 3986, 3.3: path-absolute = "/" [ segment-nz *( "/" segment ) ]
_PCHAR: Final = r"(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})"
_STRICT_PATH: Final = re.compile(rf"/(?:{_PCHAR}+(?:/{_PCHAR}*)*)?")

_LIKE_A_YEAR: Final = re.compile("/[0-9]{4}")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_SAFE_IN_PATH: Final = "/!$&'()*+,;=:@~"
_SAFE_IN_QUERY: Final = "!\"#$%'()*+,-./:;<=>?@[\\]^_`{|}~"

# Table 6.3: Pairs that the resolution system reads. Other pairs with `ibiurl.` names occur in real
# links; they belong to the archive's software and are passed on.
_REQUIRED_STATUS: Final = "ibiurl.requireditemstatus"
_VERBLIST: Final = "ibiurl.verblist"
_LANGUAGE: Final = "ibiurl.language"

_TAIL_EXPECTED: Final = Sentence('a modifier (! + :), "/" and a path, or "?" and pairs')


@dataclass(frozen=True, slots=True)
class PersistentUrl:
    """A parsed persistent URL: what to fetch, and in which form the reader wants it."""

    label: Label
    verbs: tuple[Verb, ...] = ()
    """The relations to follow from the item, in this order; modifiers and verbs are one."""
    file_list: bool = False
    """Whether the list of files is wanted instead of a file (GetFileList)."""
    path: str = ""
    """The path of the file wanted, decoded, with its leading "/"; empty for the target file."""
    original_required: bool = False
    language: Language | None = None
    """The language preference that the URL itself carries (ibiurl.language)."""
    passed_on: tuple[str, ...] = ()
    """The pairs that belong to the item, encoded as they were sent."""
    resolver: str = field(default="", compare=False)
    """Scheme and host, if the URL had them."""
    cleaned: tuple[CleanUp, ...] = field(default=(), compare=False)

    @classmethod
    def parse(cls, text: str, *, strict: bool = False, now: Instant | None = None) -> PersistentUrl:
        """Parse a persistent URL, or a label with what may follow it there.

        Raises LabelError if no label was found, PersistentUrlError if what follows the label cannot
        be parsed. A strict reading accepts Table 6.1 of 004 and nothing else.
        """
        as_given = stripped(bounded(text))
        try:
            return _read(text, as_given, strict=strict, now=now)
        except ReadingError:
            cleaned = clean(text)
            if strict or cleaned.text == as_given.text:
                raise
        try:
            return _read(text, cleaned, strict=False, now=now, reopen=True)
        except PersistentUrlError:
            return _read(text, cleaned, strict=False, now=now)

    @property
    def verblist(self) -> str:
        """All verbs as a list of verbs (Table 6.4), as it is sent to archives."""
        verbs = [str(verb) for verb in self.verbs]
        return "+".join([*verbs, *(["GetFileList"] if self.file_list else [])])

    def at(self, resolver: str) -> str:
        """Return the URL at a resolver, given by scheme and host, in the shortest spelling."""
        modifiers = "".join(verb.modifier for verb in self.verbs)
        pairs = list(self.passed_on)
        if self.original_required:
            pairs.append(f"{_REQUIRED_STATUS}=Original")
        if self.file_list:
            pairs.append(f"{_VERBLIST}=GetFileList")
        if self.language:
            pairs.append(f"{_LANGUAGE}={self.language}")
        query = f"?{'&'.join(pairs)}" if pairs else ""
        path = quote(self.path, safe=_SAFE_IN_PATH)
        if not modifiers and self.label.kind != "rep" and _LIKE_A_YEAR.match(path):
            # Otherwise label and path could be parsed as one repository name (longest match).
            path = f"/%{ord(path[1]):02X}{path[2:]}"
        return f"{resolver}/{self.label.spelling}{modifiers}{path}{query}"

    def __str__(self) -> str:
        """Return the URL at the resolver that it was parsed with, if any."""
        return self.at(self.resolver)


def without_preferences(url: str) -> str:
    """Return a persistent URL as it is written, less required status and preferred language.

    Both concern the reader, not the item: an archive has no need to learn them.
    """
    start, mark, query = url.partition("?")
    if not mark:
        return url
    private = (_REQUIRED_STATUS, _LANGUAGE)
    pairs = query.split("&")
    kept = [pair for pair in pairs if _decoded(pair.partition("=")[0]).lower() not in private]
    return (
        url if len(kept) == len(pairs) else "?".join([start, *(["&".join(kept)] if kept else [])])
    )


def _read(
    text: str, cleaned: Cleaned, *, strict: bool, now: Instant | None, reopen: bool = False
) -> PersistentUrl:
    place = locate(cleaned)
    if place is None:
        raise lost(text, cleaned, now)
    if reopen:
        cleaned = reopened(text, cleaned, place.end)
    try:
        if strict:
            _refuse_clean_ups(cleaned, place)
        return _read_tail(cleaned, place, strict=strict)
    except PersistentUrlError as fault:
        raise fault.within(text, cleaned.position(fault.position), ()) from None


def _refuse_clean_ups(cleaned: Cleaned, place: LabelPlace) -> None:
    text = cleaned.text
    if CleanUp.REPORT_TYPE in place.steps:
        end = place.start + len(place.label.spelling)
        raise _error(
            text, Sentence("the end of the label"), end, _TAIL_EXPECTED, text[end : place.end]
        )
    resolver = scheme_and_host(text)
    if cleaned.steps:
        raise _error(
            text, Sentence("the beginning"), 0, Sentence("no white space around the URL"), text
        )
    if not resolver or not resolver.isascii():
        expected = Sentence('"http://", a resolver and "/" before the label')
        raise _error(text, Sentence("the beginning"), 0, expected, text[: place.start])
    if place.start != len(resolver) + 1:
        found = text[len(resolver) + 1 : place.start]
        raise _error(
            text, Sentence("the beginning"), len(resolver) + 1, Sentence("the label"), found
        )


def _read_tail(cleaned: Cleaned, place: LabelPlace, *, strict: bool) -> PersistentUrl:
    text = cleaned.text
    steps = (*cleaned.steps, *place.steps)
    modifiers, at = read_modifiers(text, place.end)
    path, mark, query = text[at:].partition("?")
    if not strict:
        # 000 and 001 ask for metadata by "??".
        if (path, query) == ("", "?"):
            modifiers, query = united(modifiers, (GetMetadata(),)), ""
        # The inflection of an ARK (draft-kunze-ark-34, 5.1.1), which asks for an ERC record.
        elif (path, query) == ("", "info"):
            modifiers, query = united(modifiers, (GetMetadata("erc"),)), ""
        path, fragment, _ = path.partition("#")
        if fragment:
            mark, query, steps = "", "", (*steps, CleanUp.FRAGMENT)
    _check_path(text, path, at, strict=strict)
    pairs = _read_query(text, query, at + len(path) + len(mark), strict=strict)
    verbs = united(modifiers, pairs.verbs)
    if not is_composition(verbs):
        position = pairs.verblist_at if is_composition(modifiers) else place.end
        raise misplaced(text, position, "".join(verb.modifier for verb in verbs))
    return PersistentUrl(
        place.label,
        verbs,
        file_list=pairs.file_list,
        path=_decoded(path),
        original_required=pairs.original_required,
        language=pairs.language,
        passed_on=pairs.passed_on,
        resolver=scheme_and_host(text),
        cleaned=steps,
    )


def _check_path(text: str, path: str, start: int, *, strict: bool) -> None:
    if path and path[0] != "/":
        raise _error(text, Sentence("what follows the label"), start, _TAIL_EXPECTED, path)
    if strict and path:
        good = _STRICT_PATH.match(path)
        end = good.end() if good else 0
        if end < len(path):
            expected = Sentence("a path of URL characters (RFC 3986), other bytes percent-encoded")
            raise _error(text, Sentence("the path"), start + end, expected, path[end:])
    _refuse_control(text, Sentence("the path"), path, start)


def _refuse_control(text: str, part: str, value: str, start: int) -> None:
    control = _CONTROL.search(value)
    if control:
        expected = Sentence("no control characters and no halves of a character")
        raise _error(text, part, start + control.start(), expected, control[0])


@dataclass(frozen=True, slots=True)
class _Pairs:
    verbs: tuple[Verb, ...]
    verblist_at: int
    file_list: bool
    original_required: bool
    language: Language | None
    passed_on: tuple[str, ...]


def _read_query(text: str, query: str, start: int, *, strict: bool) -> _Pairs:
    verbs: tuple[Verb, ...] = ()
    verblist_at = start
    file_list = original_required = False
    language: Language | None = None
    passed_on: list[str] = []
    for pair in query.split("&") if query else ():
        if strict and not _STRICT_PAIR.fullmatch(pair):
            raise _error(
                text,
                Sentence("the query"),
                start,
                Sentence('pairs name=value divided by "&"'),
                pair,
            )
        _refuse_control(text, Sentence("the query"), pair, start)
        name, _, value = pair.partition("=")
        # In whatever spelling: pairs that are meant for the resolver are never passed on.
        known = _decoded(name).lower()
        if known == _VERBLIST:
            verblist_at = start + len(name) + 1
            more, files = _read_verbs(text, value, verblist_at)
            verbs, file_list = verbs + more, file_list or files
            if len(verbs) > MAX_VERBS:
                raise misplaced(text, verblist_at, value)
        elif known == _REQUIRED_STATUS:
            if _decoded(value).lower() != "original":
                raise _error(text, name, start + len(name) + 1, "Original", value)
            original_required = True
        elif known == _LANGUAGE:
            language = language or _known_language(value)
        elif pair:
            passed_on.append(quote(pair, safe=_SAFE_IN_QUERY))
        start += len(pair) + 1
    return _Pairs(verbs, verblist_at, file_list, original_required, language, tuple(passed_on))


def _read_verbs(text: str, value: str, start: int) -> tuple[tuple[Verb, ...], bool]:
    try:
        return read_verblist(_decoded(value))
    except PersistentUrlError as fault:
        # The position in the value as it was sent, where an encoded byte has three characters.
        at = start
        for _ in range(fault.position):
            at += len("%2B") if text[at] == "%" else 1
        raise fault.within(text, at, ()) from None


def _known_language(value: str) -> Language | None:
    # An invalid language is ignored: real links must not fail for it.
    try:
        return Language.parse(_decoded(value))
    except LanguageError:
        return None


def _decoded(encoded: str) -> str:
    """Decode once; bytes that are not UTF-8 are read as ISO 8859-1, which old archives use."""
    decoded = unquote_to_bytes(encoded)
    try:
        return decoded.decode("utf-8")
    except UnicodeDecodeError:
        return decoded.decode("iso-8859-1")


def _error(text: str, part: str, position: int, expected: str, found: str) -> PersistentUrlError:
    return PersistentUrlError(text, part=part, position=position, expected=expected, found=found)
