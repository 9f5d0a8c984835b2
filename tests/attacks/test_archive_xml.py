"""Threats, row 11, through the door of a running archive that takes metadata in XML."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Final

import pytest

from tests.attacks.test_xml import CANARY, HARMLESS, Canary, hostile
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.attacked import FULL, peak_memory
from tests.support.servers.attacked_archive import attacked

STEP: Final = 1 if FULL else 10
"""Of the documents, every so manieth is sent."""
GROWTH: Final = 32 << 20
"""Bytes: a document of 2 MB is there as sent and as read."""

WITHOUT_GUARD: Final = """
from lxml import etree
from ibi.metadata.crosswalks import oai_dc
from ibi.metadata.json_record import record_from

def read(document):
    parser = etree.XMLParser(resolve_entities=True, load_dtd=True, no_network=False, huge_tree=True)
    text = str(etree.fromstring(document, parser).xpath("string()"))
    return record_from({"titles": [text.strip()]})

oai_dc.read = read
"""


@pytest.fixture
def canary(tmp_path: Path) -> Iterator[Canary]:
    canary = Canary(tmp_path)
    thread = Thread(target=canary.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield canary
    canary.server.shutdown()
    thread.join()
    canary.server.server_close()


def sent(archive: ArchiveServer, canary: Canary, names: list[str]) -> dict[str, int]:
    """Describe an item by each document; return the statuses of those that told the secret."""
    documents = hostile(canary.file_url, canary.http_url)
    label = archive.deposit({"a.txt": b"x"})["rep"]
    statuses, told = {}, {}
    for name in names or list(documents)[::STEP]:
        answer = archive.api(
            "PUT", f"items/{label}/metadata", documents[name], content_type="application/xml"
        )
        statuses[name] = answer.status
        shown = archive.api("GET", f"items/{label}/metadata").body
        if CANARY.encode() in answer.body + shown:
            told[name] = answer.status
    expected = {name: 200 if name in HARMLESS else 400 for name in statuses}
    expected |= {name: 413 for name in statuses if len(documents[name]) > 2 << 20}
    if not names:
        assert statuses == expected
        assert len(statuses) >= 50 // STEP
    return told


def test_nothing_is_read_nobody_is_called_and_memory_stays(tmp_path: Path, canary: Canary) -> None:
    with attacked(tmp_path / "archive") as archive:
        label = archive.deposit({"a.txt": b"x"})["rep"]
        ordinary = b" " * ((1 << 20) + 1)
        archive.api("PUT", f"items/{label}/metadata", ordinary, content_type="application/xml")
        before = peak_memory(archive)
        assert sent(archive, canary, []) == {}
        assert peak_memory(archive) - before < GROWTH
    assert canary.hits == []


def test_the_documents_bite(tmp_path: Path, canary: Canary) -> None:
    """The twin: with a parser that does as it is told, the file is read out in public."""
    names = ["file entity", "file public", "file after a comment", "in utf-16"]
    with attacked(tmp_path / "archive", WITHOUT_GUARD) as archive:
        assert sent(archive, canary, names) == dict.fromkeys(names, 200)
