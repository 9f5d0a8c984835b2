"""An installation with an item for everything that a page can show."""

from __future__ import annotations

import itertools
import json
import struct
import wave
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote
from urllib.request import urlopen

from ibi.client.archive import RemoteArchive
from ibi.foundation.system.instance_lock import token_of
from tests.support.servers.installation import InstallationServer
from tests.support.waiting import wait_until

MANY_FILES: Final = 130
"""Files of the item that has many: more than one page of a list shows."""
RESULTS: Final = 24
"""Items that a search for `estuary` finds: more than one page of results shows."""
AUTHOR: Final = "Rivera, Ana"
EDITIONS: Final = 14
"""Editions of the item that has many: more than its page shows."""
LANGUAGES: Final = ("da", "de", "el", "es", "et", "eu", "fi", "fr", "ga", "he", "hi", "hu", "is")
"""Translations of the item that has many: more than its page shows."""


@dataclass(frozen=True, slots=True)
class Published:
    """A running installation, and the labels of its items by what they show."""

    server: InstallationServer
    labels: dict[str, str]

    @property
    def resolver(self) -> str:
        """The address of the resolver."""
        return self.server.resolver

    @property
    def archive(self) -> str:
        """The address of the archive."""
        return self.server.archive

    def cited(self, name: str) -> str:
        """Return the persistent URL of an item, as a paper cites it."""
        return f"{self.resolver}/{self.labels[name]}"

    def page(self, name: str) -> str:
        """Return the address of the page of an item."""
        return f"{self.archive}/{self.labels[name]}:"


def _png(folder: Path) -> Path:
    """Draw a small picture: a gradient."""
    side = 96
    rows = b"".join(
        b"\0" + bytes(v for x in range(side) for v in (40, 80 + x, 90 + y)) for y in range(side)
    )

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    path = folder / "map.png"
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )
    return path


def _pdf(folder: Path, name: str, text: str) -> Path:
    """Write a PDF of one page with one line of text."""
    drawn = f"BT /F1 18 Tf 60 700 Td ({text}) Tj ET".encode("latin-1")
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources 6 0 R >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(drawn), drawn),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Font << /F1 5 0 R >> >>",
    ]
    content, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(content))
        content += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"xref\n0 7\n0000000000 65535 f \n%strailer\n<< /Size 7 /Root 1 0 R >>\n" % table
    path = folder / name
    path.write_bytes(content + end + b"startxref\n%d\n%%%%EOF\n" % len(content))
    return path


def _sound(folder: Path) -> Path:
    """Record a tenth of a second of silence."""
    path = folder / "call.wav"
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(bytes(1600))
    return path


def _text(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


class _Depositor:
    """Deposits items over the API of the archive."""

    def __init__(self, archive: RemoteArchive) -> None:
        self._archive = archive
        self.labels: dict[str, str] = {}

    def deposit(
        self, name: str, files: Mapping[str, Path], record: dict[str, Any], **wanted: object
    ) -> None:
        """Deposit files under a record of metadata; `wanted` are further facts of the deposit."""
        id_ = self._archive.ask("POST", "deposits", {"metadata": record, **wanted})["id"]
        for path, source in files.items():
            self._archive.send_file(id_, path, source, lambda _: None)
        found = self._archive.ask("POST", f"deposits/{id_}/completion")
        self.labels[name] = found["ibip"] or found["rep"]

    def collect(self, name: str, *members: str) -> None:
        """Add items to a collection."""
        place = quote(self.labels[name], safe="/")
        body = {"add": [self.labels[each] for each in members]}
        self._archive.ask("PATCH", f"collections/{place}", body)

    def amend(self, name: str, **changes: object) -> None:
        """Change an item."""
        self._archive.ask("PATCH", f"items/{quote(self.labels[name], safe='')}", changes)

    def delete(self, name: str, reason: str, replaced_by: str) -> None:
        """Delete an item that another one replaces."""
        place = quote(self.labels[name], safe="")
        body = {"reason": reason, "replaced_by": self.labels[replaced_by]}
        self._archive.ask("POST", f"items/{place}/deletion", body)


def _record(title: str, title_pt: str = "", **more: object) -> dict[str, Any]:
    titles = [{"value": title, "language": "en"}]
    if title_pt:
        titles.append({"value": title_pt, "language": "pt"})
    return {"titles": titles, "creators": [{"family": "Rivera", "given": "Ana"}], **more}


_SEDIMENT: Final[dict[str, Any]] = {
    "descriptions": [
        {"value": "Cores from 48 stations, with ages and grain sizes.", "language": "en"},
        {"value": "Testemunhos de 48 estações, com idades e granulometria.", "language": "pt"},
    ],
    "publishers": ["Example Institute"],
    "subjects": [{"value": "sediment", "language": "en"}],
    "types": ["Text"],
    "languages": ["en"],
    "licence": "CC-BY-4.0",
}


def _fill(depositor: _Depositor, folder: Path) -> None:
    report = {"report.pdf": _pdf(folder, "report.pdf", "Sediment of the estuary")}
    sediment = "Sediment of the estuary", "Sedimentos do estuário"
    depositor.deposit("first", report, _record(*sediment, dates=["2019"], **_SEDIMENT))
    depositor.deposit(
        "report",
        report,
        _record(*sediment, dates=["2023"], **_SEDIMENT),
        edition_of=depositor.labels["first"],
    )
    previewed = (
        _png(folder),
        _text(folder, "data.csv", "station,depth\nA1,3.5\nA2,4.0\n"),
        _text(folder, "README.md", "# Read me\n\nA *table* and a map.\n"),
        _text(folder, "notes.txt", "Taken at low tide.\n"),
        _sound(folder),
        _text(folder, "film.webm", "no film"),
        _text(folder, "raw.bin", "\x01\x02"),
    )
    depositor.deposit(
        "dataset",
        {path.name: path for path in previewed},
        _record("Bathymetry of the bay", dates=["2021"], types=["Dataset"], licence="CC0-1.0"),
        target="data.csv",
    )
    sample = _text(folder, "sample.csv", "n,1\n")
    samples = {f"series-{n % 3}/sample-{n:03}.csv": sample for n in range(MANY_FILES)}
    depositor.deposit(
        "many",
        samples,
        _record("Samples of one station", dates=["2022"], types=["Dataset"]),
        target=next(iter(samples)),
    )
    note = {"note.txt": _text(folder, "note.txt", "Taken at high tide.\n")}
    depositor.deposit(
        "limited", note, _record("A contract with few readers"), readers=["192.0.2.0/24"]
    )
    for number in range(RESULTS):
        title, year = f"Estuary survey, campaign {number + 1}", str(2000 + number)
        record = _record(title, dates=[year], types=["Text"], languages=["en"])
        depositor.deposit(f"survey-{number}", note, record)
    related: dict[str, object] = {}
    for number in range(EDITIONS):
        record = _record(f"Tide table, edition {number + 1}", dates=[str(1990 + number)])
        depositor.deposit(f"tides-{number}", note, record, **related)
        related = {"edition_of": depositor.labels[f"tides-{number}"]}
    depositor.deposit("tongues", note, _record("A word of welcome"), language="en")
    elsewhere = {
        language: f"example.org/elsewhere/2020/01.01.00.{number:02}"
        for number, language in enumerate(LANGUAGES)
    }
    depositor.amend("tongues", translations=elsewhere, unchecked=True)
    both = {each.name: each for each in (previewed[1], previewed[3])}
    depositor.deposit("several", both, _record("Two files of one station", dates=["2020"]))
    described = [{"value": "All that was measured in the bay since 2018.", "language": "en"}]
    record = _record("The bay", "A baía", types=["Collection"], descriptions=described)
    depositor.deposit("collection", {}, record)
    depositor.collect("collection", "dataset", "report", "many")
    depositor.deposit("withdrawn", note, _record("Depths of the bay", dates=["2018"]))
    depositor.delete("withdrawn", "The depths were wrong.", "dataset")


def _wait_for_picture(page: str) -> None:
    """Wait until the page of an item shows a picture of its PDF, each time a page made anew."""
    rounds = itertools.count()

    def is_shown() -> bool:
        with urlopen(f"{page}?round={next(rounds)}") as answer:  # noqa: S310  # of this machine
            return b'class="sheet"' in answer.read()

    wait_until(is_shown)


@contextmanager
def published(folder: Path) -> Iterator[Published]:
    """Run `ibi up --demo` with more items."""
    with demonstration(folder) as demo:
        archive = RemoteArchive(demo.archive, token_of(demo.server.data / "archive"))
        depositor = _Depositor(archive)
        files = folder / "files"
        files.mkdir()
        _fill(depositor, files)
        _wait_for_picture(f"{demo.archive}/{depositor.labels['report']}:")
        yield Published(demo.server, {**demo.labels, **depositor.labels})


@contextmanager
def demonstration(folder: Path) -> Iterator[Published]:
    """Run `ibi up --demo`."""
    server = InstallationServer(folder)
    try:
        server.start("--demo")
        labels = json.loads((server.data / "archive" / "demo.json").read_text("utf-8"))
        yield Published(server, labels)
    finally:
        server.kill()
