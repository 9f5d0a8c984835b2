"""Texts for people, in English, that can be translated after they were written.

An error is raised where nothing is known of its reader. So its text remembers the template and the
values of which it was made: a page translates the template by a message catalogue, and puts the
same values into it. Everywhere else it is a plain text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Self


class Sentence(str):
    """A text in English, with the template and the values of which it was made.

    The template names its values as %(name)s; without values it is the text itself. A value may be
    a Sentence, which is translated too.
    """

    __slots__ = ("fields", "template")

    template: str
    fields: dict[str, object]

    def __new__(cls, template: str, /, **fields: object) -> Self:
        """Write a text; the values are named in the template."""
        self = super().__new__(cls, template % fields if fields else template)
        self.template = template
        self.fields = fields
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Support pickling (between worker processes) with template and values."""
        return _rebuilt, (self.template, self.fields)

    def translated(self, translate: Callable[[str], str]) -> str:
        """Return the text by a function that translates templates."""
        template = translate(self.template)
        return template % translated_fields(self.fields, translate) if self.fields else template


def plain(text: str) -> str:
    """Return a text as a string that is no Sentence, which encoders may refuse."""
    return str.__str__(text)


def translated_fields(
    fields: dict[str, object], translate: Callable[[str], str]
) -> dict[str, object]:
    """Return values with the sentences among them translated."""
    return {
        name: value.translated(translate) if isinstance(value, Sentence) else value
        for name, value in fields.items()
    }


def either(texts: tuple[str, ...]) -> str:
    """Return texts as alternatives: one, or one or another."""
    first, *others = texts
    if not others:
        return first
    return Sentence("%(first)s or %(others)s", first=first, others=either(tuple(others)))


def series(texts: Iterable[str]) -> str:
    """Return texts one after the other, with semicolons between; empty if there are none."""
    first, *others = [*texts] or [""]
    if not others:
        return first
    return Sentence("%(first)s; %(others)s", first=first, others=series(others))


def _rebuilt(template: str, fields: dict[str, object]) -> Sentence:
    return Sentence(template, **fields)
