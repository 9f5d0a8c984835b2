"""Man pages of commands, from the texts that --help shows."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import click

_ESCAPED: Final = {
    "\\": r"\e",
    "-": r"\-",
    "'": r"\(aq",
    '"': r"\(dq",
    "`": r"\(ga",
    "^": r"\(ha",
    "~": r"\(ti",
}
"""Characters that roff shows as others, or reads as its own."""
_VERBATIM: Final = "\b"
"""The line of a help text after which click keeps the lines of a paragraph as they are."""
_EXAMPLE_TITLES: Final = ("Example", "Examples")
"""The words before the colon with which a paragraph of examples begins."""
_BLANK_LINES: Final = re.compile(r"\n(?:[ \t]*\n)+")
_SUMMARY_LENGTH: Final = 200
"""The longest description of a command in one line, in characters."""


@dataclass(frozen=True, slots=True)
class ManPage:
    """A page of section 1 of the manual."""

    name: str
    text: str


def man_pages(command: click.Command, name: str, version: str) -> Iterator[ManPage]:
    """Return the pages of a command and of all commands in it."""
    for context in _contexts(command, name, None):
        yield ManPage(_name(context), "\n".join(_lines(context, f"{name} {version}")) + "\n")


def _contexts(
    command: click.Command, name: str, parent: click.Context | None
) -> Iterator[click.Context]:
    context = command.context_class(
        command, parent=parent, info_name=name, **command.context_settings
    )
    yield context
    for inner, found in _commands(context):
        yield from _contexts(found, inner, context)


def _commands(context: click.Context) -> Iterator[tuple[str, click.Command]]:
    if isinstance(context.command, click.Group):
        for name in context.command.list_commands(context):
            found = context.command.get_command(context, name)
            if found is not None and not found.hidden:
                yield name, found


def _name(context: click.Context) -> str:
    return context.command_path.replace(" ", "-")


def _lines(context: click.Context, source: str) -> Iterator[str]:
    command, name = context.command, _name(context)
    usage = " ".join(command.collect_usage_pieces(context))
    described, examples = _parted(command)
    yield f'.TH "{_text(name.upper())}" "1" "" "{_text(source)}" ""'
    yield from (".nh", ".ad l", ".SH NAME")
    yield rf"{_text(name)} \- {_text(_summary(command))}"
    yield from (".SH SYNOPSIS", rf"\fB{_text(context.command_path)}\fP {_text(usage)}")
    yield ".SH DESCRIPTION"
    yield from _paragraphs(described)
    yield from _section("OPTIONS", _options(context))
    yield from _section("COMMANDS", _pages_within(context))
    yield from _section("ENVIRONMENT", _variables(context))
    if examples:
        yield from (".SH EXAMPLES", ".EX", *map(_line, examples), ".EE")
    if context.parent:
        yield from (".SH SEE ALSO", rf"\fB{_text(_name(context.parent))}\fP(1)")


def _summary(command: click.Command) -> str:
    return command.get_short_help_str(_SUMMARY_LENGTH).removesuffix(".")


def _section(title: str, entries: Iterator[tuple[str, str]]) -> Iterator[str]:
    found = list(entries)
    if found:
        yield f".SH {title}"
    for term, text in found:
        yield from (".TP", term, _line(" ".join(text.split())) or r"\&")


def _options(context: click.Context) -> Iterator[tuple[str, str]]:
    for parameter in context.command.get_params(context):
        record = parameter.get_help_record(context)
        # The synopsis is enough for an argument that the description explains.
        if record and (record[1] or isinstance(parameter, click.Option)):
            option, text = record
            yield " ".join(map(_emphasized, option.split())), text


def _emphasized(word: str) -> str:
    option = word.rstrip(",")
    comma = word[len(option) :]
    return rf"\f{'B' if option.startswith('-') else 'I'}{_text(option)}\fP{comma}"


def _pages_within(context: click.Context) -> Iterator[tuple[str, str]]:
    for name, command in _commands(context):
        page = _text(f"{_name(context)}-{name}")
        yield rf"\fB{page}\fP(1)", f"{_summary(command)}."


def _variables(context: click.Context) -> Iterator[tuple[str, str]]:
    for parameter in context.command.get_params(context):
        names = parameter.envvar or ()
        for name in (names,) if isinstance(names, str) else names:
            yield rf"\fB{_text(name)}\fP", f"The value of {parameter.opts[0]} if it is not given."


def _parted(command: click.Command) -> tuple[list[str], list[str]]:
    """Return the paragraphs of the description, and the lines of the examples.

    Examples are a paragraph of the description, or they follow the options.
    """
    texts = (inspect.cleandoc(text or "") for text in (command.help, command.epilog))
    described: list[str] = []
    examples: list[str] = []
    for paragraph in (each for text in texts for each in _BLANK_LINES.split(text) if each):
        is_verbatim = paragraph.startswith(_VERBATIM)
        title, colon, within = paragraph.removeprefix(f"{_VERBATIM}\n").partition(":")
        if colon and title in _EXAMPLE_TITLES:
            # One example on the line of the title may be wrapped; several are a line each.
            kept = textwrap.dedent(within).strip() if is_verbatim else " ".join(within.split())
            examples += kept.splitlines()
        else:
            described.append(paragraph)
    return described, examples


def _paragraphs(paragraphs: list[str]) -> Iterator[str]:
    for number, paragraph in enumerate(paragraphs):
        if number:
            yield ".PP"
        if paragraph.startswith(f"{_VERBATIM}\n"):
            kept = paragraph.removeprefix(f"{_VERBATIM}\n").splitlines()
            yield from (".EX", *map(_line, kept), ".EE")
        else:
            yield _line(" ".join(paragraph.split()))


def _line(text: str) -> str:
    # A point at the beginning of a line would be a request.
    return rf"\&{_text(text)}" if text.startswith(".") else _text(text)


def _text(text: str) -> str:
    return "".join(map(_character, text))


def _character(character: str) -> str:
    if character in _ESCAPED:
        return _ESCAPED[character]
    return character if character.isascii() else rf"\[u{ord(character):04X}]"
