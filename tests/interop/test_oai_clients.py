"""Harvesters that others wrote, on some hundred items and while some change."""

from __future__ import annotations

import subprocess
import warnings
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pytest
from oaipmh_scythe import Scythe

from tests.support.servers.archive import HOST, ArchiveServer
from tests.support.tools.debian import program

with warnings.catch_warnings():  # its regular expressions are older than Python 3.6
    warnings.simplefilter("ignore")
    from sickle import Sickle

pytestmark = pytest.mark.interop

ITEMS: Final = 400
PERL: Final = r"""
use strict; use warnings; use HTTP::OAI;
my $harvester = HTTP::OAI::Harvester->new(baseURL => $ARGV[0]);
my $about = $harvester->Identify;
die $about->message if $about->is_error;
my $records = $harvester->ListRecords(metadataPrefix => 'oai_dc', onRecord => sub {
    my $record = shift;
    print $record->identifier, "\t", ($record->header->is_deleted ? 'deleted' : ''), "\n";
});
die $records->message if $records->is_error;
"""


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArchiveServer]:
    server = ArchiveServer(tmp_path_factory.mktemp("volume"))
    server.set(oai_page=25)
    with server as running:
        yield running


@pytest.fixture(scope="module")
def items(archive: ArchiveServer) -> list[dict[str, Any]]:
    return [archive.deposit(metadata={"titles": [f"Item {number}"]}) for number in range(ITEMS)]


def identifier(item: dict[str, Any]) -> str:
    return f"oai:{HOST}:{item['ibip']}"


def test_python_clients_lose_and_double_nothing_while_items_change(
    archive: ArchiveServer, items: list[dict[str, Any]]
) -> None:
    records = Sickle(f"{archive.address}/oai").ListRecords(metadataPrefix="oai_dc")
    seen = Counter(record.header.identifier for record in islice(records, 100))
    for number in (3, 50, 399):
        path = f"items/{items[number]['ibip']}/metadata"
        changed = archive.api("PUT", path, {"titles": [f"Changed {number}"]})
        assert changed.status == 200, changed.body
    seen += Counter(record.header.identifier for record in records)
    assert seen.keys() == {identifier(item) for item in items}
    twice = {name for name, count in seen.items() if count > 1}
    assert twice == {identifier(items[number]) for number in (3, 50)}
    with Scythe(f"{archive.address}/oai") as scythe:
        headers: list[Any] = list(scythe.list_identifiers(metadata_prefix="oai_dc"))
    assert sorted(each.identifier for each in headers) == sorted(seen)


def test_http_oai_of_perl_harvests_all(
    archive: ArchiveServer, items: list[dict[str, Any]], tmp_path: Path
) -> None:
    perl = program("perl", "libhttp-oai-perl", "HTTP::OAI harvests here")
    gone = archive.api("POST", f"items/{items[7]['ibip']}/deletion", {"reason": "Wrong"})
    assert gone.status == 200, gone.body
    script = tmp_path / "harvest.pl"
    script.write_text(PERL, encoding="utf-8")
    done = subprocess.run(  # noqa: S603
        [perl, str(script), f"{archive.address}/oai"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    assert sorted(name for name, _ in lines) == sorted(map(identifier, items))
    assert [name for name, state in lines if state] == [identifier(items[7])]
