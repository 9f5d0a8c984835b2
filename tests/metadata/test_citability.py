"""What is missing for a citation, field by field."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ibi.metadata.citability import missing_for_citation
from ibi.model.metadata_record import UNKNOWN, Agent, MetadataRecord, Text

WHOLE = MetadataRecord(
    titles=(Text("A title"),),
    creators=(Agent("INPE"),),
    dates=("2026",),
    types=("Text",),
    publishers=(Agent("INPE"),),
)


def test_nothing_is_missing_of_a_whole_record() -> None:
    assert missing_for_citation(WHOLE) == {}


@pytest.mark.parametrize(
    ("field", "without"),
    [
        ("title", replace(WHOLE, titles=())),
        ("title", replace(WHOLE, titles=(Text(" "),))),
        ("creator", replace(WHOLE, creators=())),
        ("year", replace(WHOLE, dates=())),
        ("year", replace(WHOLE, dates=("someday",))),
        ("type", replace(WHOLE, types=())),
        ("publisher", replace(WHOLE, publishers=())),
    ],
)
def test_each_field_is_asked_for_by_its_name_in_the_form(
    field: str, without: MetadataRecord
) -> None:
    missing = missing_for_citation(without)
    assert list(missing) == [field]
    assert missing[field].startswith(f"The {field}")


def test_a_creator_may_be_unknown_on_purpose() -> None:
    assert missing_for_citation(replace(WHOLE, creators=(Agent(UNKNOWN),))) == {}


def test_the_archive_is_the_publisher_by_default() -> None:
    assert missing_for_citation(replace(WHOLE, publishers=()), "An archive") == {}


def test_an_empty_record_lacks_all_in_the_order_of_the_form() -> None:
    fields = ["title", "creator", "year", "type", "publisher"]
    assert list(missing_for_citation(MetadataRecord(titles=()))) == fields
