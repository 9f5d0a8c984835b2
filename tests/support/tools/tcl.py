"""Real Tcl, the judge of pair lists: one `tclsh` that is asked over and over.

Texts go to it and come from it as hexadecimal digits of UTF-16, so that no quoting of ours or of
Tcl's stands between them.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.support.tools.debian import program

_SCRIPT: Final = """
fconfigure stdin -translation lf -encoding iso8859-1
fconfigure stdout -translation lf -encoding iso8859-1 -buffering line
proc text {digits} {encoding convertfrom unicode [binary decode hex $digits]}
proc hex {text} {binary encode hex [encoding convertto unicode $text]}
while {[gets stdin line] >= 0} {
    set texts {}
    foreach digits [split [string range $line 2 end] ,] {lappend texts [text $digits]}
    if {[string index $line 0] eq "r"} {
        set list [lindex $texts 0]
        if {[catch {llength $list} reason]} {
            puts "error,[hex $reason]"
        } else {
            set answer ok
            foreach element $list {append answer , [hex $element]}
            puts $answer
        }
    } else {
        puts "ok,[hex $texts]"
    }
}
"""


class NotAListError(Exception):
    """Tcl does not read the text as a list."""


class Tcl:
    """A running `tclsh`."""

    def __enter__(self) -> Self:
        """Start it."""
        self._folder = tempfile.TemporaryDirectory()
        script = Path(self._folder.name, "lists.tcl")
        script.write_text(_SCRIPT, encoding="ascii")
        self._process = subprocess.Popen(  # noqa: S603  # the shell of Tcl
            [program("tclsh", "tcl", "Tcl is the judge of these tests"), str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="ascii",
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End it, which it does by itself when nobody can ask any more."""
        self._process.communicate()
        self._folder.cleanup()

    def read(self, text: str) -> list[str]:
        """Return the elements of a list as Tcl reads them."""
        return self._ask("r", [text])

    def write(self, elements: Sequence[str]) -> str:
        """Return the list of one or more elements as Tcl writes it."""
        return self._ask("w", elements)[0]

    def _ask(self, command: str, texts: Iterable[str]) -> list[str]:
        asking, answering = self._process.stdin, self._process.stdout
        assert asking is not None
        assert answering is not None
        asking.write(f"{command} {','.join(map(_digits, texts))}\n")
        asking.flush()
        verdict, *answers = answering.readline().rstrip("\n").split(",")
        if verdict == "error":
            raise NotAListError(*map(_text, answers))
        assert verdict == "ok", "tclsh does not answer"
        return [_text(digits) for digits in answers]


def _digits(text: str) -> str:
    return text.encode(f"utf-16-{sys.byteorder[0]}e", "surrogatepass").hex()


def _text(digits: str) -> str:
    return bytes.fromhex(digits).decode(f"utf-16-{sys.byteorder[0]}e", "surrogatepass")
