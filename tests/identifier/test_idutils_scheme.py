"""idutils, which InvenioRDM uses, recognizes IBIs by the entry point of this package."""

from __future__ import annotations

import warnings
from typing import Final

import pytest

with warnings.catch_warnings():
    # Python warns of escapes in the docstrings of its dependencies, when it compiles them.
    warnings.simplefilter("ignore")
    import idutils

NAME: Final = "sid.inpe.br/mtc-m19/2013/09.04.12.27.57"
IBIP: Final = "8JMKD3MGP7W/3EPGUE5"
LEGACY: Final = "6qtX3pFwXQZGivnK2Y/SskcB"


@pytest.mark.parametrize(
    ("text", "label"),
    [
        (NAME, NAME),
        (IBIP, IBIP),
        ("8jmkd3mgp7w/3epgue5", IBIP),
        (f"ibi:{IBIP}", IBIP),
        (f"upn:{NAME}", NAME),
        (f"http://urlib.net/{IBIP}", IBIP),
        (f"https://resolver.example.org/{NAME.upper()}", NAME),
        (f"ibi:{LEGACY}", LEGACY),
    ],
)
def test_idutils_recognizes_a_label(text: str, label: str) -> None:
    assert idutils.detect_identifier_schemes(text) == ["ibi"]
    assert idutils.normalize_pid(text, "ibi") == label
    assert idutils.to_url(label, "ibi", "https") == f"https://urlib.net/{label}"


@pytest.mark.parametrize(
    "text",
    [
        "10.1000/182",
        "10.1590/1809-4392201902311",
        "https://doi.org/10.5281/zenodo.1234567",
        "20.500.12345/abc",
        "ark:/12148/btv1b8449691v",
        "https://github.com/inveniosoftware/idutils",
        "https://www.example.org/2013/09.04.12.27.57",
        "978-3-16-148410-0",
        LEGACY,
        f"{IBIP}!",
        f"see {IBIP}",
        "8JMKD3MGP7W/3EPGUE0",
        "x" * 100_000,
        "",
    ],
)
def test_idutils_takes_nothing_else_for_a_label(text: str) -> None:
    assert "ibi" not in idutils.detect_identifier_schemes(text)
    assert idutils.normalize_pid(text, "ibi") == text
