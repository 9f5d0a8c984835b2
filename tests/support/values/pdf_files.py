"""PDF files with pages of text, as small as they can be."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

HEAD = b"%PDF-1.7\n"


def pdf(*pages: str, catalogue: bytes = b"", trailer: bytes = b"") -> bytes:
    """Return a PDF with pages of one line each; further entries of catalogue and trailer."""
    return pdf_of_streams([_line(page) for page in pages], catalogue=catalogue, trailer=trailer)


def _line(text: str) -> bytes:
    escaped = text.translate({ord(each): f"\\{each}" for each in "()\\"})
    return b"BT /F1 12 Tf 50 700 Td (" + escaped.encode("cp1252") + b") Tj ET"


def pdf_of_streams(
    streams: Sequence[bytes], *, catalogue: bytes = b"", trailer: bytes = b""
) -> bytes:
    """Return a PDF with pages that draw these instructions, compressed."""
    kids = b" ".join(b"%d 0 R" % (4 + 2 * number) for number in range(len(streams)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R " + catalogue + b" >>",
        b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(streams), kids),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for number, stream in enumerate(streams):
        packed = zlib.compress(stream, 9)
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R >> >> >>" % (5 + 2 * number)
        )
        objects.append(
            b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(packed), packed)
        )
    return pdf_of_objects(objects, trailer=trailer)


def pdf_of_objects(objects: Sequence[bytes], *, trailer: bytes = b"") -> bytes:
    """Return a PDF of numbered objects, the first of which is the catalogue."""
    content = bytearray(HEAD)
    places = []
    for number, each in enumerate(objects, 1):
        places.append(len(content))
        content += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    start = len(content)
    content += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    content += b"".join(b"%010d 00000 n \n" % place for place in places)
    content += b"trailer\n<< /Size %d /Root 1 0 R %s >>\n" % (len(objects) + 1, trailer)
    content += b"startxref\n%d\n%%%%EOF\n" % start
    return bytes(content)
