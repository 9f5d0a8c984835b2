"""Texts that cannot be read."""

from __future__ import annotations

from typing import Self

from ibi.errors.base import IbiError, shown


class ReadingError(IbiError, ValueError):
    """A text could not be read: which part, where, and what would have been right."""

    thing = "an IBI"

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
        """Keep the facts; `position` counts characters of `text` from 0."""
        self.text = text
        self.part = part
        self.position = position
        self.expected = expected
        self.found = found
        self.suggestions = suggestions
        super().__init__(text, part, position, expected, found, suggestions)

    def __str__(self) -> str:
        """Say it in one sentence, and in a second one what may have been meant."""
        found = f"found {shown(self.found)}" if self.found else "found nothing there"
        sentence = (
            f"{shown(self.text)} is not {self.thing}: {self.part}, at character "
            f"{self.position + 1}: expected {self.expected}, {found}."
        )
        if self.suggestions:
            sentence += f" Did you mean {' or '.join(self.suggestions)}?"
        return sentence

    def __reduce__(self) -> tuple[object, ...]:
        """Survive pickling (worker processes), which keyword-only arguments would not."""
        return (_rebuilt, (type(self), *self.args))

    def within(self, text: str, position: int, suggestions: tuple[str, ...]) -> Self:
        """Return the same complaint about a larger text in which the offending part lies."""
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
    """The text is none of the forms of an IBI."""


class RepositoryNameError(LabelError):
    """The text looks like a repository name and is none."""

    thing = "a repository name"


class IbipError(LabelError):
    """The text looks like an IBIp and is none."""

    thing = "an IBIp"


class LegacyLabelError(LabelError):
    """The text looks like a label from before 2009 and is none."""

    thing = "a legacy label"


class PersistentUrlError(ReadingError):
    """What follows the label of a persistent URL cannot be read."""

    thing = "a persistent URL"


class ModifierOrderError(PersistentUrlError):
    """The modifiers and verbs are good, their order is not."""


class LanguageError(ReadingError):
    """The text names no language."""

    thing = "a language"


class CheckCharacterError(IbiError):
    """A label and the check character beside it disagree: one of them was mistyped."""

    def __init__(self, label: str, given: str, expected: str = "") -> None:
        """Keep the label, the character given and its own one, empty if its form has none."""
        self.label = label
        self.given = given
        self.expected = expected
        super().__init__(label, given, expected)

    def __str__(self) -> str:
        """Say what disagrees; which of the two is wrong cannot be known."""
        if not self.expected:
            return f"{shown(self.label)} has no check character: only an IBIp has one."
        return (
            f"The check character of {shown(self.label)} is {self.expected}, not "
            f"{shown(self.given)}: the label or its check character was mistyped."
        )
