"""Threats, rows 8 and 11: files that attack the program that extracts their text or draws them.

Each hostile file ends with no text, or with the little text that it has, within the limits of the
process; the archive's own process neither grows nor waits for ever. The same holds for pictures.
"""

from __future__ import annotations

import os
import resource
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from ibi.archive.ports.full_text import Extracted, TextKind
from ibi.archive.storage.extraction import child, extractor
from ibi.archive.storage.extraction.extractor import ProcessExtractor
from tests.support.values.pdf_files import HEAD, pdf, pdf_of_objects, pdf_of_streams

_FONT: Final = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
_NOT_TEXT: Final = b"\x7fELF\x02\x01\x01" + bytes(range(256)) * 100


def _bomb() -> bytes:
    """Return a page whose few megabytes become two gigabytes of text."""
    compressor = zlib.compressobj(9)
    packed = compressor.compress(b"BT /F1 12 Tf\n") + compressor.flush(zlib.Z_FULL_FLUSH)
    # After a full flush nothing refers to what was before: the same bytes can follow many times.
    lines = compressor.compress((b"(" + b"A" * 100_000 + b") Tj\n") * 10)
    packed += (lines + compressor.flush(zlib.Z_FULL_FLUSH)) * 2000
    return pdf_of_objects(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Count 1 /Kids [4 0 R] >>",
            _FONT,
            (
                b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R "
                b"/Resources << /Font << /F1 3 0 R >> >> >>"
            ),
            b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(packed), packed),
        ]
    )


def _form_in_itself() -> bytes:
    form = b"/F0 Do " * 1000
    return pdf_of_objects(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
            (
                b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R "
                b"/Resources << /XObject << /F0 5 0 R >> >> >>"
            ),
            b"<< /Length %d >>\nstream\n%s\nendstream" % (len(form), form),
            b"<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Length %d "
            b"/Resources << /XObject << /F0 5 0 R >> >> >>\nstream\n%s\nendstream"
            % (len(form), form),
        ]
    )


def _pages_in_themselves(kids: bytes) -> bytes:
    return pdf_of_objects(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Count 1000000000 /Parent 2 0 R /Kids [" + kids + b"] >>",
        ]
    )


_ENCRYPTED: Final = (
    b"/Encrypt << /Filter /Standard /V 2 /R 3 /Length 128 /P -4 /O <" + b"ab" * 32 + b"> "
    b"/U <" + b"cd" * 32 + b"> >> /ID [<00> <00>]"
)
_ENTITIES: Final = (
    b'<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">'
    b'<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;"><!ENTITY s SYSTEM "file:///etc/hostname">]>'
)

HOSTILE: Final[dict[str, tuple[TextKind, Callable[[], bytes]]]] = {
    "pdf-bomb": ("pdf", _bomb),
    "pdf-form-in-itself": ("pdf", _form_in_itself),
    "pdf-pages-in-themselves": ("pdf", lambda: _pages_in_themselves(b"2 0 R")),
    "pdf-a-thousand-million-pages": ("pdf", lambda: _pages_in_themselves(b"")),
    "pdf-nested-arrays": ("pdf", lambda: pdf("x", catalogue=b"/A " + b"[" * 3_000_000)),
    "pdf-nested-dictionaries": ("pdf", lambda: pdf("x", catalogue=b"/A <<" * 1_000_000)),
    "pdf-encrypted": ("pdf", lambda: pdf("secret", trailer=_ENCRYPTED)),
    "pdf-truncated": ("pdf", lambda: pdf("x" * 1000)[:300]),
    "pdf-head-only": ("pdf", lambda: HEAD),
    "pdf-many-pages": ("pdf", lambda: pdf_of_streams([b""] * 5000)),
    "pdf-is-a-program": ("pdf", lambda: _NOT_TEXT),
    "html-is-a-program": ("html", lambda: _NOT_TEXT),
    "text-is-a-program": ("text", lambda: _NOT_TEXT),
    "html-deep": ("html", lambda: b"<div>" * 1_000_000),
    "html-deep-lists": ("html", lambda: b"<ul><li><b><i>" * 400_000),
    "html-wide-tag": ("html", lambda: b"<p " + b"a=1 " * 1_000_000),
    "html-long-attribute": ("html", lambda: b'<p a="' + b"x" * 7_000_000),
    "html-comments": ("html", lambda: b"<!--" * 1_000_000),
    "html-entities": ("html", lambda: _ENTITIES + b"<p>&c;&s;"),
    "html-hidden-for-ever": ("html", lambda: b"<script>" + b"x " * 1_000_000),
    "text-of-zeros": ("text", lambda: bytes(2_000_000)),
    "text-of-escapes": ("text", lambda: b"\x08" * 1_000_000),
}
WITH_TEXT: Final = {"pdf-nested-arrays", "pdf-nested-dictionaries", "html-entities"}
"""Files of which a parser may find the honest part."""


class _File:
    modified = 0

    def __init__(self, place: Path) -> None:
        self.fd = os.open(place, os.O_RDONLY)
        self.size = place.stat().st_size

    def read(self, offset: int, count: int) -> bytes:
        return os.pread(self.fd, count, offset)

    def close(self) -> None:
        os.close(self.fd)


def _extracted(place: Path, kind: TextKind) -> Extracted | None:
    file = _File(place)
    try:
        return ProcessExtractor().extract(file, kind)
    finally:
        file.close()


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_has_no_text(name: str, tmp_path: Path) -> None:
    kind, make = HOSTILE[name]
    place = tmp_path / "file"
    place.write_bytes(make())
    found = _extracted(place, kind)
    assert found is not None
    if name in WITH_TEXT:
        assert len(found.text) < 1000
    else:
        assert (found.outcome in {"none", "limit"}, found.text) == (True, "")
    hostname = Path("/etc/hostname")
    secret = hostname.read_text(encoding="utf-8").strip() if hostname.exists() else ""
    assert not secret or secret not in found.text


def test_a_gigabyte_of_text_costs_no_more_than_its_beginning(tmp_path: Path) -> None:
    place = tmp_path / "file"
    with place.open("wb") as file:
        file.write(b"word " * (child.MOST_MARKUP // 4))
        file.truncate(1 << 30)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for kind in ("text", "html"):
        found = _extracted(place, kind)
        assert found is not None
        assert found.text.startswith("word word")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10


# --- limits, each with its twin -------------------------------------------------------------------

PROGRAM: Final = """
import sys
from ibi.archive.storage.extraction import child
child.CPU_SECONDS, child.MEMORY = 1, 256 << 20
{change}
def bad(file):
    {work}
    yield "was not stopped"
child.KINDS["text"] = bad
sys.exit(child.main("text"))
"""
ENDLESS: Final = "while True: pass"
WAITING: Final = "import time; time.sleep(600)"
GREEDY: Final = "held = bytes(600 << 20)"
"""Memory that is asked for, and not touched: that would take much of the time of computing."""
FLOODING: Final = "sys.stdout.buffer.write(b'x' * 50_000_000)"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Extracted | None]:
    """Return what runs other work in the place of a parser, on an empty file."""

    def run(work: str, change: str = "") -> Extracted | None:
        program = tmp_path / "program.py"
        program.write_text(PROGRAM.format(work=work, change=change), encoding="utf-8")
        monkeypatch.setattr(child, "__file__", str(program))
        place = tmp_path / "empty"
        place.write_bytes(b"")
        return _extracted(place, "text")

    return run


Run = Callable[..., Extracted | None]
WITHOUT_LIMITS: Final = "child.LIMITS = (); child.signal.alarm(500)"


def test_a_parser_that_never_ends_is_stopped(run: Run) -> None:
    assert run(ENDLESS) == Extracted("limit")


@pytest.mark.long
def test_the_twin_without_a_limit_of_computing_is_killed_at_the_deadline(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin: only the deadline of the parent is left, which would be two minutes."""
    monkeypatch.setattr(extractor, "DEADLINE", 5.0)
    assert run(WAITING, WITHOUT_LIMITS) == Extracted("limit")
    # More computing than the limit allows, which ends by itself.
    work = "import time; [None for _ in iter(lambda: time.process_time() < 2, False)]"
    assert run(work) == Extracted("limit")
    monkeypatch.setattr(extractor, "DEADLINE", 400.0)
    assert run(work, WITHOUT_LIMITS) == Extracted("text", "was not stopped")


def test_a_parser_that_takes_memory_is_stopped(run: Run) -> None:
    assert run(GREEDY) == Extracted("limit")


def test_the_twin_without_a_limit_of_memory_gets_it(run: Run) -> None:
    """The twin: the same work ends well."""
    change = "child.LIMITS = tuple(each for each in child.LIMITS if each is not child.limit_memory)"
    assert run(GREEDY, change) == Extracted("text", "was not stopped")


def test_a_parser_cannot_flood_the_archive(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(FLOODING) == Extracted("limit")
    # The twin: without a limit of the output, all of it is taken.
    monkeypatch.setattr(extractor, "_MOST_OUTPUT", 1 << 30)
    found = run(FLOODING)
    assert found is not None
    assert found.outcome == "text"


def test_a_parser_can_write_no_file(run: Run, tmp_path: Path) -> None:
    """With the twin: without the limit, the same work ends well."""
    work = f"open({str(tmp_path / 'written')!r}, 'wb').write(b'x' * 10_000)"
    assert run(work) == Extracted("limit")
    change = "child.LIMITS = tuple(each for each in child.LIMITS if each is not child.limit_files)"
    assert run(work, change) == Extracted("text", "was not stopped")
    assert (tmp_path / "written").stat().st_size == 10_000


def test_the_process_knows_nothing_of_the_archive(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    work = (
        "import os; yield repr(sorted(os.environ)); "
        "yield repr((os.getcwd(), len(os.listdir('/proc/self/fd'))))"
    )
    found = run(work)
    assert found is not None
    assert "AWS" not in found.text
    # The three standard descriptors, and that of the folder itself.
    assert "('/', 4)" in found.text


# --- pictures -------------------------------------------------------------------------------------


def _page_of(box: bytes, drawn: bytes = b"0 0 9 9 re f", image: bytes = b"") -> bytes:
    return pdf_of_objects(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [" + box + b"] /Contents 4 0 R "
            b"/Resources << /XObject << /I 5 0 R >> >> >>",
            b"<< /Length %d >>\nstream\n%s\nendstream" % (len(drawn), drawn),
            *([image] if image else []),
        ]
    )


_EMPTY_ROWS: Final = zlib.compress(bytes(50_000_000), 9)
_HUGE_IMAGE: Final = (
    b"<< /Type /XObject /Subtype /Image /Width 60000 /Height 60000 /BitsPerComponent 8 "
    b"/ColorSpace /DeviceRGB /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream"
    % (len(_EMPTY_ROWS), _EMPTY_ROWS)
)
UNDRAWN: Final[dict[str, Callable[[], bytes]]] = {
    **{
        name: HOSTILE[name][1]
        for name in HOSTILE
        if name.startswith("pdf-") and name not in {*WITH_TEXT, "pdf-bomb", "pdf-many-pages"}
    },
    "endless-page": lambda: _page_of(b"0 0 1e30 1e30"),
    "page-of-nothing": lambda: _page_of(b"5 5 5 5"),
    "long-page": lambda: _page_of(b"0 0 1 900000"),
    "huge-image": lambda: _page_of(b"0 0 99 99", b"99 0 0 99 0 0 cm /I Do", _HUGE_IMAGE),
}


def _drawn(place: Path) -> bytes | None:
    file = _File(place)
    try:
        return ProcessExtractor().picture(file)
    finally:
        file.close()


@pytest.mark.parametrize("name", UNDRAWN)
def test_a_hostile_pdf_has_no_picture_or_a_small_one(name: str, tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_bytes(UNDRAWN[name]())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = _drawn(place)
    assert found is not None
    assert len(found) < 50_000
    assert not found or found.startswith(b"RIFF")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10


def test_a_pdf_that_is_too_large_is_not_drawn(tmp_path: Path) -> None:
    place = tmp_path / "file"
    with place.open("wb") as file:
        file.write(pdf("x"))
        file.truncate(extractor.LARGEST_FILE + 1)
    assert _drawn(place) == b""


PAINTER: Final = """
import sys
from ibi.archive.storage.extraction import child
child.CPU_SECONDS, child.MEMORY = 1, 256 << 20
{change}
def bad(file):
    {work}
    return b"RIFF----WEBP"
child.picture_of_pdf = bad
sys.exit(child.main("picture"))
"""


@pytest.fixture
def paint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., bytes | None]:
    """Return what runs other work in the place of a painter, on an empty file."""

    def paint(work: str, change: str = "") -> bytes | None:
        program = tmp_path / "program.py"
        program.write_text(PAINTER.format(work=work, change=change), encoding="utf-8")
        monkeypatch.setattr(child, "__file__", str(program))
        place = tmp_path / "empty"
        place.write_bytes(b"")
        return _drawn(place)

    return paint


Paint = Callable[..., bytes | None]


def test_a_painter_that_takes_memory_is_stopped(paint: Paint) -> None:
    """With the twin: without the limit, the same work ends well."""
    assert paint(GREEDY) == b""
    change = "child.LIMITS = tuple(each for each in child.LIMITS if each is not child.limit_memory)"
    assert paint(GREEDY, change) == b"RIFF----WEBP"


def test_a_painter_that_was_taken_over_shows_no_document(
    paint: Paint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the twin: without a look at the output, a page of HTML would be kept."""
    page = "return b'<script>alert(1)</script>'"
    assert paint(page) == b""
    assert paint("return b'RIFF----WEBP' + bytes(500_000)") == b""
    monkeypatch.setattr(extractor, "_is_picture", bool)
    assert paint(page) == b"<script>alert(1)</script>"
