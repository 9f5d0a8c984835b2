"""Verbs and modifiers: two spellings of what to fetch instead of the item itself.

Table 6.5 of 004 makes them synonyms:

    GetMetadata      :   metadata
    GetLastEdition   !   last edition
    GetTranslation   +   translation
    GetFileList          list of files
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from ibi.errors import LanguageError, ModifierOrderError, PersistentUrlError, Sentence
from ibi.identifier.language import Language


@dataclass(frozen=True, slots=True)
class GetLastEdition:
    """Request for the last edition of the item."""

    @property
    def modifier(self) -> str:
        """The synonymous modifier, rule u of Table 6.1."""
        return "!"

    def __str__(self) -> str:
        """Return the verb as Table 6.4 spells it."""
        return "GetLastEdition"


@dataclass(frozen=True, slots=True)
class GetTranslation:
    """Request for a translation: into the language given, or the one that the reader prefers."""

    language: Language | None = None

    @property
    def modifier(self) -> str:
        """The synonymous modifier, rule t of Table 6.1."""
        return f"+({self.language})" if self.language else "+"

    def __str__(self) -> str:
        """Return the verb as Table 6.4 spells it."""
        return f"GetTranslation({self.language})" if self.language else "GetTranslation"


@dataclass(frozen=True, slots=True)
class GetMetadata:
    """Request for the metadata: in the format given, or in any."""

    format: str = ""

    @property
    def modifier(self) -> str:
        """The synonymous modifier, rule m of Table 6.1."""
        return f":({self.format})" if self.format else ":"

    def __str__(self) -> str:
        """Return the verb as Table 6.4 spells it."""
        return f"GetMetadata({self.format})" if self.format else "GetMetadata"


Verb: TypeAlias = GetLastEdition | GetTranslation | GetMetadata

# Table 6.2: Modifiers of a persistent URL. All that the rule
#
#   mdf = ([u [t]] | [t [u]]) [m [t]]
#
# of Table 6.1 allows, but for the empty one.
COMPOSITIONS: Final = (
    ":", ":+", "!", "!+", "!:", "!+:", "!:+", "!+:+", "+", "+!", "+:", "+!:", "+:+", "+!:+",
)  # fmt: skip

# Table 6.1, rules u, t and m.   u = "!"   t = "+" ["(" idioma ["-" pais] ")"]
#                                m = ":" ["(" formato ")"]
_MODIFIER: Final = re.compile(r"([!+:])(?:\(([^()/?#]*)\))?")

# Table 6.4: Rules defining the formation of a list of verbs.
#
#   lista-de-verbos = [verbo *("+" verbo)]
_VERB: Final = re.compile(r"([A-Za-z]+)(?:\(([^()]*)\))?")

#   formato = "oai_dc"
#
# An archive may offer more formats by the same syntax (our Decision), with names of this form.
_FORMAT: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")

_VERBS_EXPECTED: Final = Sentence("GetTranslation, GetLastEdition, GetMetadata or GetFileList")


MAX_MODIFIERS: Final = max(map(len, COMPOSITIONS))
"""The number of modifiers in the longest composition."""
MAX_VERBS: Final = 4 * MAX_MODIFIERS
"""The largest number of verbs in lists of verbs; repeated ones count, though they mean nothing."""


def read_modifiers(text: str, start: int = 0) -> tuple[tuple[Verb, ...], int]:
    """Parse the modifiers that begin at `start`, in any order; return them and where they end.

    Raises ModifierOrderError for more of them than any composition has, without parsing the rest.
    """
    verbs: list[Verb] = []
    begin = start
    match = _MODIFIER.match(text, start)
    while match:
        if len(verbs) == MAX_MODIFIERS:
            raise misplaced(text, begin, text[begin : match.end()])
        symbol, parameter = match.groups()
        verbs.append(_verb(text, symbol, parameter, match.start(2)))
        start = match.end()
        match = _MODIFIER.match(text, start)
    return tuple(verbs), start


def read_verblist(text: str) -> tuple[tuple[Verb, ...], bool]:
    """Parse a list of verbs, in any order; return them and whether GetFileList is among them.

    Verbs are separated by "+", or by a blank, which a form decoder makes of it. Raises
    ModifierOrderError for more than MAX_VERBS, without parsing the rest.
    """
    verbs: list[Verb] = []
    file_list = False
    position = 0
    spellings = text.replace(" ", "+").split("+", MAX_VERBS) if text else []
    for number, spelled in enumerate(spellings):
        if number == MAX_VERBS:
            raise misplaced(text, position, spelled)
        match = _VERB.fullmatch(spelled)
        name = match[1].lower() if match else ""
        if match and name == "getfilelist" and match[2] is None:
            file_list = True
        elif match and name in _SYMBOLS:
            verbs.append(_verb(text, _SYMBOLS[name], match[2], position + match.start(2)))
        else:
            raise PersistentUrlError(
                text,
                part=Sentence("the verb"),
                position=position,
                expected=_VERBS_EXPECTED,
                found=spelled,
            )
        position += len(spelled) + 1
    return tuple(verbs), file_list


def misplaced(text: str, position: int, found: str) -> ModifierOrderError:
    """Return the error of modifiers and verbs that are no composition."""
    return ModifierOrderError(
        text,
        part=Sentence("the order of modifiers and verbs"),
        position=position,
        expected=Sentence("one of %(orders)s", orders=" ".join(COMPOSITIONS)),
        found=found,
    )


def united(modifiers: tuple[Verb, ...], verblist: tuple[Verb, ...]) -> tuple[Verb, ...]:
    """Return the union without repetition, modifiers first (004, section 6.2).

    A translation before GetMetadata is one of the item, after it one of the metadata: to request
    both is not a repetition.
    """
    union = dict.fromkeys([*_placed(modifiers), *_placed(verblist)])
    return (*modifiers, *[verb for verb, _ in list(union)[len(set(_placed(modifiers))) :]])


def _placed(verbs: tuple[Verb, ...]) -> Iterator[tuple[Verb, bool]]:
    """Yield each verb with whether it is a translation of the metadata."""
    metadata = False
    for verb in verbs:
        metadata = metadata or isinstance(verb, GetMetadata)
        yield verb, metadata and isinstance(verb, GetTranslation)


def is_composition(verbs: Iterable[Verb]) -> bool:
    """Return whether Table 6.2 has the verbs in this order."""
    symbols = "".join(verb.modifier[0] for verb in verbs)
    return not symbols or symbols in COMPOSITIONS


_SYMBOLS: Final = {"gettranslation": "+", "getlastedition": "!", "getmetadata": ":"}


def _verb(text: str, symbol: str, parameter: str | None, position: int) -> Verb:
    if symbol == "+":
        return GetTranslation(None if parameter is None else _language(text, parameter, position))
    if symbol == ":":
        return GetMetadata("" if parameter is None else _format(text, parameter, position))
    if parameter is not None:
        raise PersistentUrlError(
            text,
            part=Sentence("the last edition"),
            position=position - 1,
            expected=Sentence("no parameter"),
            found=parameter,
        )
    return GetLastEdition()


def _language(text: str, parameter: str, position: int) -> Language:
    try:
        return Language.parse(parameter)
    except LanguageError as unknown:
        raise PersistentUrlError(
            text,
            part=Sentence("the language of the translation"),
            position=position + unknown.position,
            expected=unknown.expected,
            found=parameter,
        ) from None


def _format(text: str, parameter: str, position: int) -> str:
    if _FORMAT.fullmatch(parameter):
        return parameter.lower()
    raise PersistentUrlError(
        text,
        part=Sentence("the format of the metadata"),
        position=position,
        expected=Sentence("the name of a format, as oai_dc"),
        found=parameter,
    )
