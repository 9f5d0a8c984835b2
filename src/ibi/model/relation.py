"""A relation: how a related item is reached from an item (004, Table 7.5)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ibi.errors import LanguageError, RelationError
from ibi.identifier.language import Language
from ibi.identifier.verbs import GetLastEdition, GetMetadata, GetTranslation, Verb, is_composition

# Table 7.5: Rules defining the formation of a relation.
#
#   relacao = ([u [t]] | [t [u]]) [m [t]]
#   u       = ".lastedition"
#   t       = ".translation" ["(" idioma ["-" pais] ")"]
#   m       = ".metadata" ["(" formato ")"]
#   formato = "oai_dc"
#
# An archive may offer more formats by the same syntax (our Decision, as for modifiers). The steps
# of a relation are the verbs of a persistent URL, and combine in the same orders.
_STEP: Final = re.compile(r"\.(lastedition|translation|metadata)(?:\(([A-Za-z0-9_-]{1,40})\))?")
_EXPECTED: Final = ".lastedition, .translation or .metadata, in an order of Table 7.5"


@dataclass(frozen=True, slots=True)
class Relation:
    """The steps from an item to a related one; without steps, the item itself."""

    steps: tuple[Verb, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Relation:
        """Parse the part of a name in a list of URLs that follows its prefix."""
        steps: list[Verb] = []
        at = 0
        while at < len(text):
            match = _STEP.match(text, at)
            if match is None:
                raise RelationError(text, position=at, expected=_EXPECTED, found=text[at:])
            steps.append(_step(text, match))
            at = match.end()
        if not is_composition(steps):
            raise RelationError(text, position=0, expected=_EXPECTED, found=text)
        return cls(tuple(steps))

    def __str__(self) -> str:
        """Return the relation as it is written in a list of URLs."""
        return "".join(map(_written, self.steps))


def _step(text: str, match: re.Match[str]) -> Verb:
    name, parameter = match.groups()
    if name == "metadata":
        return GetMetadata(parameter.lower() if parameter else "")
    if name == "translation":
        try:
            return GetTranslation(Language.parse(parameter) if parameter else None)
        except LanguageError as fault:
            raise RelationError(
                text, position=match.start(2), expected=fault.expected, found=parameter
            ) from None
    if parameter:
        raise RelationError(text, position=match.start(2), expected="no parameter", found=parameter)
    return GetLastEdition()


def _written(step: Verb) -> str:
    match step:
        case GetLastEdition():
            return ".lastedition"
        case GetTranslation(language=None):
            return ".translation"
        case GetTranslation(language=language):
            return f".translation({language})"
        case GetMetadata(format=""):
            return ".metadata"
        case GetMetadata(format=name):
            return f".metadata({name})"
