"""An item for people: one line for each thing that is known of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ibi.errors import printable
from ibi.metadata.dublin_core import elements
from ibi.metadata.plain_record import record_from

_WIDTH = 18


def written(item: Mapping[str, Any]) -> str:
    """Write what the API says of an item."""
    return "\n".join(
        f"{name:{_WIDTH - 1}} {_indented(text)}"
        for key, value in item.items()
        for name, text in _lines(key, value)
    )


def _indented(text: str) -> str:
    return f"\n{' ' * _WIDTH}".join(map(printable, text.split("\n")))


def _lines(name: str, value: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401  # JSON
    match name, value:
        case "record", dict():
            yield from _elements(value)
        case "translations", dict():
            for language, labels in value.items():
                yield f"translation {language}", _labels(labels)
        case "tombstone", dict():
            for inner, fact in value.items():
                yield from _lines("deleted by" if inner == "who" else inner, fact)
        case _, dict():
            yield name, _labels(value)
        case _, list():
            for each in value:
                yield from _lines(name, each)
        case _, bool():
            yield name, "yes" if value else "no"
        case _:
            yield name, str(value)


def _elements(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, text in elements(record_from(record)):
        yield name, f"{text.value} ({text.language})" if text.language else text.value


def _labels(labels: Mapping[str, str]) -> str:
    return "  ".join(labels[form] for form in ("rep", "ibip") if form in labels)
