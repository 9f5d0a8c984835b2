"""The command `ibi describe`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, cast

import click
import msgspec

from ibi.errors import IbiError, ReadingError, printable
from ibi.errors.sentence import plain
from ibi.foundation.cli.options import json_lines_option, refuse_closed_output
from ibi.foundation.system import clock
from ibi.identifier import description
from ibi.identifier.check_character import verify
from ibi.identifier.legacy import LegacyLabel
from ibi.identifier.limits import MAX_TEXT

if TYPE_CHECKING:
    from ibi.identifier.description import Description

_LONGEST_LINE: Final = 4 * (MAX_TEXT + 1)
"""The longest line in bytes: no line with a valid text is longer, in any script."""

_CHUNK: Final = 65_536

_KINDS: Final = {"rep": "repository name", "ibip": "IBIp", "legacy": "legacy label (before 2009)"}

_EXAMPLES: Final = """
\b
Examples:
  ibi describe sid.inpe.br/mtc-m19/2013/09.04.12.27.57
  ibi describe --check 8JMKD3MGP7W/3EPGUE5 6
  ibi describe --json < labels.txt
"""


class _Chunks(Protocol):
    """Standard input in chunks of bytes, as they arrive."""

    def read1(self, size: int, /) -> bytes: ...


_Request: TypeAlias = tuple[str, str, int]
"""A text, its check character or an empty text, and its line number or 0."""


@click.command(epilog=_EXAMPLES)
@click.argument("texts", nargs=-1, metavar="[TEXT]...")
@click.option("--strict", is_flag=True, help="Accept a label and nothing else: no clean-ups.")
@json_lines_option
@click.option(
    "--check",
    is_flag=True,
    help="Show the check character of an IBIp; verify the one that follows a label, as the next "
    "TEXT or after a blank on its line.",
)
def describe(texts: tuple[str, ...], *, strict: bool, as_json: bool, check: bool) -> None:
    """Describe labels: the host or address, the time and the form of each.

    TEXT is a label of any form, alone or as it is found in the wild: in a persistent URL, in
    brackets, broken over lines. Without TEXT, labels are read from standard input, one a line.

    The exit code is 1 if any TEXT is not a label.
    """
    refuse_closed_output()
    show: _Lines | _Tables = _Lines(check=check) if as_json else _Tables(check=check)
    typed = False
    if texts:
        requests: Iterable[_Request] = _arguments(texts, check=check)
    elif sys.stdin is None:
        raise click.UsageError("Standard input is closed and no TEXT is given.")
    elif sys.stdin.isatty():
        requests, typed = _typed(check=check), True
    else:
        # A pipe that another program left non-blocking would seem to end when it is empty.
        os.set_blocking(sys.stdin.fileno(), True)
        requests = _lines(cast("_Chunks", sys.stdin.buffer), check=check)
    now = clock.now()
    good = True
    for request in requests:
        text, check_character, _ = request
        try:
            described = description.describe(text, strict=strict, now=now)
            if check_character:
                verify(described.label, check_character)
        except IbiError as error:
            good = False
            show.fault(request, error)
        else:
            show.description(described)
    # In an interactive session the user has seen the errors: it is not a failure.
    click.get_current_context().exit(0 if good or typed else 1)


def _arguments(texts: tuple[str, ...], *, check: bool) -> Iterator[_Request]:
    """Yield each argument as a text; with `check`, a single character belongs to the one before."""
    waiting: str | None = None
    for text in map(_readable, texts):
        if check and len(text) == 1 and waiting is not None:
            yield waiting, text, 0
            waiting = None
            continue
        if waiting is not None:
            yield _request(waiting, check=check)
        waiting = text
    if waiting is not None:
        yield _request(waiting, check=check)


def _lines(stream: _Chunks, *, check: bool) -> Iterator[_Request]:
    """Yield each line of standard input as a text, except for blank lines."""
    for number, text in enumerate(chain.from_iterable(_texts(stream)), 1):
        if text and not text.isspace():
            yield _request(text, check=check, line=number) if check else (text, "", number)


def _texts(stream: _Chunks) -> Iterator[list[str]]:
    """Yield lines as they arrive, many at a time; of a line without end, only its beginning."""
    begun = b""
    while chunk := stream.read1(_CHUNK):
        complete, end, rest = (begun + chunk).rpartition(b"\n")
        if end:
            yield _decoded(complete)
            # A program that writes lines and waits for the answers gets them now.
            sys.stdout.flush()
        # The beginning is enough for an error message; the rest of the line is discarded.
        begun = rest[:_LONGEST_LINE]
    if begun:
        yield _decoded(begun)


def _decoded(lines: bytes) -> list[str]:
    return [text.removesuffix("\r") for text in lines.decode("utf-8", errors="replace").split("\n")]


def _typed(*, check: bool) -> Iterator[_Request]:
    """Prompt for one text after another, until one is empty."""
    prompt = "ibi> "
    if sys.stdout.isatty():
        with suppress(ImportError):
            import readline  # noqa: F401, PLC0415  # arrow keys, where Python has it
    click.echo(
        "Type or paste an identifier, as it is or as you found it; an empty line ends.", err=True
    )
    while True:
        try:
            if not sys.stdout.isatty():
                click.echo(prompt, nl=False, err=True)
            text = _readable(input(prompt if sys.stdout.isatty() else ""))
        except (EOFError, KeyboardInterrupt):
            click.echo(err=True)
            return
        if not text.strip():
            return
        yield _request(text, check=check)


def _readable(text: str) -> str:
    """Return the text with U+FFFD for bytes that are not valid in the terminal's encoding."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _request(text: str, *, check: bool, line: int = 0) -> _Request:
    label, *character = text.rsplit(maxsplit=1) or [text]
    if check and character and len(character[0]) == 1:
        return label, character[0], line
    return text, "", line


class _Lines:
    """Output for programs: one JSON object a line, with the error for an invalid text."""

    def __init__(self, *, check: bool) -> None:
        self._check = check
        self._encode = msgspec.json.Encoder().encode
        self._write = sys.stdout.buffer.write

    def description(self, described: Description) -> None:
        shown = described.as_dict()
        if self._check and described.check_character:
            shown["check"] = described.check_character
        self._write(self._line(shown))

    def fault(self, request: _Request, error: IbiError) -> None:
        facts: dict[str, object] = {"message": str(error)}
        if isinstance(error, ReadingError):
            facts["part"] = plain(error.part)
            facts["position"] = error.position
            facts["expected"] = plain(error.expected)
            facts["suggestions"] = error.suggestions
        self._write(self._line({"given": request[0], "error": facts}))
        _complain(request, error)

    def _line(self, shown: dict[str, Any]) -> bytes:
        if shown["given"].isprintable():
            return self._encode(shown) + b"\n"
        # Control characters are written as \\u..., because a terminal would obey them.
        return json.dumps(shown, separators=(",", ":")).encode("ascii") + b"\n"


class _Tables:
    """Output for people: a table for each label, coloured on a terminal only."""

    def __init__(self, *, check: bool) -> None:
        del check  # the check character is always shown

    def description(self, described: Description) -> None:
        rows = list(_rows(described))
        width = max(len(name) for name, _ in rows)
        for name, value in rows:
            # Styled without its padding, because escape sequences would count as width.
            padding = " " * (width - len(name) + 2)
            click.echo(click.style(name, dim=True) + padding + click.style(value, **_style(name)))
        click.echo()

    def fault(self, request: _Request, error: IbiError) -> None:
        _complain(request, error)


def _style(name: str) -> dict[str, Any]:
    styles: dict[str, dict[str, Any]] = {"label": {"bold": True}, "warning": {"fg": "yellow"}}
    return styles.get(name, {})


def _rows(described: Description) -> Iterator[tuple[str, str]]:
    label = described.label
    yield "label", label.spelling
    if label.canonical != label.spelling:
        yield "canonical", label.canonical
    yield "form", _KINDS[label.kind]
    facts = described.as_dict()
    for name, title in (("host", "host"), ("ip", "address"), ("port", "port")):
        if name in facts:
            yield title, str(facts[name])
    yield "instant", label.instant.iso8601
    if isinstance(label, LegacyLabel) and label.repository_name:
        yield "stands for", label.repository_name.canonical
    if described.check_character:
        yield "check character", described.check_character
    if described.tail:
        yield "followed by", printable(described.tail)
    for clean_up in described.cleaned:
        yield "cleaned", clean_up.sentence
    for warning in described.warnings:
        yield "warning", warning.sentence


def _complain(request: _Request, error: IbiError) -> None:
    line = request[2]
    place = f"line {line}: " if line else ""
    click.echo(f"ibi: {place}{error}", err=True)
