"""Metadata of an item read by programs that others wrote for readers of such metadata."""

from __future__ import annotations

import json
from pathlib import Path

import extruct
import pytest
from rocrate.rocrate import ROCrate

from ibi.metadata.crosswalks import ro_crate, schema_org
from ibi.metadata.crosswalks.item_facts import FileFacts, ItemFacts
from ibi.metadata.json_record import record_from
from ibi.model.label_pair import Forms

pytestmark = pytest.mark.interop

FORMS = Forms.parse("rep sid.inpe.br/mtc-m18@80/2009/07.21.14.43 ibip 8JMKD3MGP8W/35MMLL8")
BASE = "http://urlib.net"
FILE = "http://archive.example/col/x/doc/thesis.pdf"
RECORD = record_from(
    {
        "titles": ["Água & <saneamento> </script>"],
        "creators": [{"family": "Banon", "given": "Gerald", "orcid": "0000-0002-1825-0097"}],
        "dates": ["2009"],
        "types": ["Dataset"],
        "licence": "CC-BY-4.0",
    }
)
FACTS = ItemFacts(files=(FileFacts(path="thesis.pdf", url=FILE, media_type="application/pdf"),))


def test_the_library_of_ro_crate_reads_the_crate(tmp_path: Path) -> None:
    content = ro_crate.write(RECORD, FORMS, BASE, FACTS)
    (tmp_path / ro_crate.FILE_NAME).write_bytes(content)
    crate = ROCrate(tmp_path)
    assert crate.name == RECORD.title.value
    assert [each.id for each in crate.data_entities] == [FILE]
    (author,) = [crate.dereference("https://orcid.org/0000-0002-1825-0097")]
    assert author["familyName"] == "Banon"
    assert crate.root_dataset["datePublished"] == "2009-07-21"  # a crate needs a day
    assert crate.license.id == "https://creativecommons.org/licenses/by/4.0/"


def test_a_reader_of_pages_finds_the_json_ld() -> None:
    value = schema_org.value(RECORD, FORMS, BASE, FACTS)
    text = json.dumps(value).replace("<", "\\u003c")
    page = f'<html><head><script type="application/ld+json">{text}</script></head></html>'
    (found,) = extruct.extract(page, syntaxes=["json-ld"])["json-ld"]
    assert found == value
    assert found["distribution"]["contentUrl"] == FILE
