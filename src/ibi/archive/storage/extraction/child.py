"""The program of the process that extracts the text of one file, or makes a picture of it.

The file is its standard input, the kind of the file its argument; the text or the picture goes to
its standard output. Files come from strangers, and parsers have bugs: the process limits itself
before it reads the first byte, its parent kills it at a deadline, and it has nothing of the archive
but one open file. It is started by its path and imports nothing of `ibi`, which would take longer
than most files.
"""

from __future__ import annotations

import codecs
import io
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from typing import BinaryIO, Final

LONGEST_TEXT: Final = 200_000
"""Characters of the text of one file, about a hundred pages; the rest is left out."""
MOST_PAGES: Final = 2_000
"""Pages of a PDF in which text is looked for: scanned books have many, and no text."""
MEMORY: Final = 512 << 20
"""Bytes of address space; PDFs of a thousand pages take 60 MB beside the 200 MB of an interpreter
with its libraries."""
CPU_SECONDS: Final = 20
"""Seconds of computing; a hundred pages take a tenth of a second."""
DEADLINE: Final = 120
"""Seconds after which the process ends, even if it waits: a busy machine is slower."""
NO_TEXT: Final = 3
"""The exit status for a file that has no text, or is not what its name says."""
PICTURE: Final = "picture"
"""The argument by which a picture of the first page of a PDF is wanted, and not a text."""
PICTURE_SIZE: Final = (800, 1100)
"""Pixels of the widest and highest picture: legible beside the description of an item."""
_PICTURE_QUALITY: Final = 75
_LARGEST_PAGE: Final = 20_000.0
"""Points of the longest side of a page that is drawn, seven metres."""
UNAVAILABLE: Final = 4
"""The exit status if a library of this program cannot be loaded: the file is not at fault."""

MOST_OCTETS: Final = 4 * LONGEST_TEXT
"""Bytes of a plain text that are read: a character of UTF-8 has at most four."""
MOST_MARKUP: Final = 8 << 20
"""Bytes of a page in HTML that are read."""
_MOST_CONTROLS: Final = 0.01
"""The share of control characters from which on a file is no text, whatever its name says."""
_CONTROLS: Final = bytes(each for each in range(32) if each not in b"\t\n\r\f\x1b")
_OPEN_FILES: Final = 32
"""Descriptors: the three standard ones, and those of shared libraries while they load."""
_UNSEEN: Final = frozenset({"script", "style", "template", "noscript", "svg", "math"})
"""Elements whose text no reader of a page sees."""
_WITHIN_WORDS: Final = frozenset(
    {"a", "abbr", "b", "big", "cite", "code", "em", "font", "i", "ins", "mark", "s", "small"}
    | {"span", "strong", "sub", "sup", "u"}
)
"""Elements that may begin and end within a word; all others separate words."""


def limit_memory() -> None:
    """Limit the address space."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def limit_time() -> None:
    """Limit the time of computing, and end the process by itself if its parent died."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
    signal.alarm(DEADLINE)


def limit_files() -> None:
    """Forbid files of any length, core dumps, and more than a few descriptors."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (_OPEN_FILES, _OPEN_FILES))


LIMITS: Final[tuple[Callable[[], None], ...]] = (limit_memory, limit_time, limit_files)


def text_of_pdf(file: BinaryIO) -> Iterator[str]:
    """Yield the text of each page; nothing if it is encrypted or not a PDF."""
    import pypdfium2  # noqa: PLC0415  # takes long to load, and other kinds do not need it

    try:
        document = pypdfium2.PdfDocument(file)
        pages = min(len(document), MOST_PAGES)
    except pypdfium2.PdfiumError:
        return
    for number in range(pages):
        try:
            page = document[number]
            text = page.get_textpage()
            yield text.get_text_bounded()
            text.close()
            page.close()
        except pypdfium2.PdfiumError:  # a damaged page; others may be well
            continue


class _Visible:
    """Collects the text of a page as its elements begin and end, without a tree of them."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self._length = 0
        self._unseen = 0

    def start(self, tag: str, _: object) -> None:
        self._unseen += tag in _UNSEEN
        self._separate(tag)

    def end(self, tag: str) -> None:
        self._unseen -= tag in _UNSEEN
        self._separate(tag)

    def _separate(self, tag: str) -> None:
        if tag not in _WITHIN_WORDS and self._length < LONGEST_TEXT:
            self.data("\n")

    def data(self, text: str) -> None:
        if self._unseen <= 0 and self._length < LONGEST_TEXT:
            self.parts.append(text)
            self._length += len(text)

    def close(self) -> None:
        """End the page."""


def text_of_html(file: BinaryIO) -> Iterator[str]:
    """Yield the text that readers of a page see."""
    from lxml import etree  # noqa: PLC0415  # takes long to load, and other kinds do not need it

    content = file.read(MOST_MARKUP)
    encoding = _encoding(content)
    if encoding is None:  # it may name its encoding itself
        if b"\0" in content:
            return
    else:
        content, encoding = content.decode(encoding, "replace").encode(), "utf-8"
    visible = _Visible()
    parser = etree.HTMLParser(
        target=visible,  # type: ignore[arg-type]  # the stubs want more than lxml calls
        encoding=encoding,
        no_network=True,
        huge_tree=False,
        recover=True,
    )
    try:
        parser.feed(content)
        parser.close()
    except etree.LxmlError:
        pass  # what was read before stays
    yield "".join(visible.parts)


def text_of_plain(file: BinaryIO) -> Iterator[str]:
    """Yield a text, if it is one."""
    content = file.read(MOST_OCTETS)
    encoding = _encoding(content)
    if encoding is None and b"\0" in content:
        return
    text = content.decode(encoding or "cp1252", "replace")
    octets = text.encode("utf-8", "replace")
    controls = len(octets) - len(octets.translate(None, _CONTROLS))
    if controls <= _MOST_CONTROLS * len(text):
        yield text


_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def _encoding(content: bytes) -> str | None:
    """Return the encoding of a text: what its first bytes say, or UTF-8 if it is that."""
    for mark, name in _MARKS:
        if content.startswith(mark):
            return name
    try:
        # The last character may be cut in two.
        codecs.getincrementaldecoder("utf-8")().decode(content)
    except UnicodeDecodeError:
        return None
    return None if b"\0" in content else "utf-8"


KINDS: Final = {"pdf": text_of_pdf, "html": text_of_html, "text": text_of_plain}
"""The functions that extract the text of a kind of files."""


def picture_of_pdf(file: BinaryIO) -> bytes:
    """Return a picture of the first page, as WebP; empty if it is encrypted or not a PDF.

    The library is built without scripts; what is drawn on top by forms is left out.
    """
    import pypdfium2  # noqa: PLC0415  # as above
    from PIL import Image  # noqa: PLC0415

    try:
        page = pypdfium2.PdfDocument(file)[0]
        width, height = page.get_size()
        if not (0 < width <= _LARGEST_PAGE and 0 < height <= _LARGEST_PAGE):
            return b""
        scale = min(PICTURE_SIZE[0] / width, PICTURE_SIZE[1] / height)
        drawn: Image.Image = page.render(scale=scale, may_draw_forms=False).to_pil()
    except (pypdfium2.PdfiumError, IndexError):
        return b""
    written = io.BytesIO()
    drawn.convert("RGB").save(written, "WEBP", quality=_PICTURE_QUALITY)
    return written.getvalue()


def first_part(parts: Iterator[str]) -> str:
    """Return the beginning of a text in parts; later ones are not asked for."""
    found: list[str] = []
    length = 0
    for part in parts:
        found.append(part[: LONGEST_TEXT - length])
        length += len(found[-1])
        if length >= LONGEST_TEXT:
            break
    return "\n".join(found)[:LONGEST_TEXT]


def main(kind: str) -> int:
    """Extract the text of the standard input, or make a picture of it."""
    for limit in LIMITS:
        limit()
    os.nice(10)
    try:
        found = _made(kind)
    except ImportError:
        return UNAVAILABLE
    if not found.strip():
        return NO_TEXT
    sys.stdout.buffer.write(found)
    sys.stdout.buffer.flush()
    return 0


def _made(kind: str) -> bytes:
    if kind == PICTURE:
        return picture_of_pdf(sys.stdin.buffer)
    return first_part(KINDS[kind](sys.stdin.buffer)).encode("utf-8", "replace")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
