"""Errors of parsing: the text is not a label, a persistent URL or a language."""

from __future__ import annotations

from typing import Self

from ibi.errors.base import IbiError, shown
from ibi.errors.sentence import Sentence, either


class ReadingError(IbiError, ValueError):
    """A text could not be parsed.

    The error holds the part at fault, its position in `text` (characters, counted from 0), what
    was expected there and what was found, and labels that may have been meant.
    """

    thing = Sentence("an IBI")

    def __init__(  # noqa: PLR0913  # the facts of a fault, by name
        self,
        text: str,
        *,
        part: str,
        position: int,
        expected: str,
        found: str = "",
        suggestions: tuple[str, ...] = (),
    ) -> None:
        self.text = text
        self.part = part
        self.position = position
        self.expected = expected
        self.found = found
        self.suggestions = suggestions
        super().__init__(text, part, position, expected, found, suggestions)

    def message(self) -> str:
        """Return the message."""
        found = Sentence("found nothing there")
        if self.found:
            found = Sentence("found %(text)s", text=shown(self.found))
        sentence = Sentence(
            "%(text)s is not %(thing)s: %(part)s, at character %(position)s: expected "
            "%(expected)s, %(found)s.",
            text=shown(self.text),
            thing=self.thing,
            part=self.part,
            position=self.position + 1,
            expected=self.expected,
            found=found,
        )
        if not self.suggestions:
            return sentence
        meant = either(self.suggestions)
        return Sentence("%(sentence)s Did you mean %(meant)s?", sentence=sentence, meant=meant)

    def __reduce__(self) -> tuple[object, ...]:
        """Support pickling (between worker processes), which keyword-only arguments break."""
        return (_rebuilt, (type(self), *self.args))

    def within(self, text: str, position: int, suggestions: tuple[str, ...]) -> Self:
        """Return the same error for a larger text, in which the part at fault is at `position`."""
        return type(self)(
            text,
            part=self.part,
            position=position,
            expected=self.expected,
            found=self.found,
            suggestions=suggestions,
        )


def _rebuilt(  # noqa: PLR0913, PLR0917  # the facts of a fault, as pickle hands them over
    error: type[ReadingError],
    text: str,
    part: str,
    position: int,
    expected: str,
    found: str,
    suggestions: tuple[str, ...],
) -> ReadingError:
    return error(
        text,
        part=part,
        position=position,
        expected=expected,
        found=found,
        suggestions=suggestions,
    )


class LabelError(ReadingError):
    """The text has none of the forms of an IBI."""


class RepositoryNameError(LabelError):
    """The text resembles a repository name, but is not one."""

    thing = Sentence("a repository name")


class IbipError(LabelError):
    """The text resembles an IBIp, but is not one."""

    thing = Sentence("an IBIp")


class LegacyLabelError(LabelError):
    """The text resembles a label from before 2009, but is not one."""

    thing = Sentence("a legacy label")


class PersistentUrlError(ReadingError):
    """The part of a persistent URL after its label cannot be parsed."""

    thing = Sentence("a persistent URL")


class ModifierOrderError(PersistentUrlError):
    """The modifiers and verbs are valid, but not in this order."""


class LanguageError(ReadingError):
    """The text is not the code of a language."""

    thing = Sentence("a language")


class CheckCharacterError(IbiError):
    """A label and its check character do not match: one of them was mistyped.

    `expected` is empty if the form of the label has no check character.
    """

    def __init__(self, label: str, given: str, expected: str = "") -> None:
        self.label = label
        self.given = given
        self.expected = expected
        super().__init__(label, given, expected)

    def message(self) -> str:
        """Return the message."""
        if not self.expected:
            return Sentence(
                "%(label)s has no check character: only an IBIp has one.", label=shown(self.label)
            )
        return Sentence(
            "The check character of %(label)s is %(expected)s, not %(given)s: the label or its "
            "check character was mistyped.",
            label=shown(self.label),
            expected=self.expected,
            given=shown(self.given),
        )
