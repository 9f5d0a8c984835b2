"""The items of `ibi up --demo`: each shows something that a label can lead to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from ibi.archive.rules import item_transitions
from ibi.archive.rules.manifest import manifest
from ibi.foundation.system.disk import Checksums
from ibi.metadata.json_record import record_from
from ibi.model.item import File, Item
from ibi.model.label_pair import Forms

# Labels of 004, Example 7.1, which an archive of INPE issued.
FORMS: Final = Forms.of("sid.inpe.br/mtc-m19/2013/09.04.12.27.57", "8JMKD3MGP7W/3EPGUE5")
_METADATA: Final = Forms.of("sid.inpe.br/mtc-m19/2013/09.04.12.27.58")
_MINTED: Final = 1_378_297_677_000_000_000
_PATH: Final = "report.txt"
_TEXT: Final = (
    b"This is a Copy. Its Original is in another archive, under the same label.\n"
    b"Whoever has the label finds one of them, as long as there is one.\n"
)
_RECORD: Final = {
    "titles": [{"value": "A report that another archive has", "language": "en"}],
    "creators": [{"family": "Example", "given": "Ana"}],
    "dates": ["2013"],
    "types": ["Text"],
    "languages": ["en"],
}


def brought() -> dict[str, Any]:
    """Return the item as it is imported into an archive."""
    sums = Checksums()
    sums.update(_TEXT)
    facts = (sums.size, sums.sha256.hexdigest(), sums.sha512.hexdigest())
    item = Item(forms=FORMS, metadata=_METADATA, target=_PATH, created=_MINTED, updated=_MINTED)
    described = item_transitions.describing(item, _METADATA, record_from(_RECORD), _MINTED)
    return {
        "label": FORMS.label.spelling,
        "item": msgspec.Raw(manifest(item, [File(_PATH, *facts, _MINTED)])),
        "metadata": msgspec.Raw(manifest(described, ())),
    }


def files() -> dict[str, bytes]:
    """Return its files."""
    return {_PATH: _TEXT}


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoItem:
    """An item to be deposited; it refers to others by their names."""

    name: str
    record: Mapping[str, Any]
    files: Mapping[str, str] = field(default_factory=dict)
    language: str = ""
    target: str = ""
    service: str = ""
    edition_of: str = ""
    translation_of: str = ""
    collection: str = ""
    """The collection to which it is added."""
    deleted: str = ""
    """The reason for which it is deleted again; empty if it is not."""
    replaced_by: str = ""


_AUTHOR: Final = {"family": "Example", "given": "Ana"}
_NOTE: Final = {
    "creators": [_AUTHOR],
    "publishers": ["Demo"],
    "types": ["Text"],
    "licence": "CC-BY-4.0",
}


def _page(language: str, title: str, *paragraphs: str) -> dict[str, str]:
    text = "".join(f"<p>{each}</p>\n" for each in paragraphs)
    head = f'<meta charset="utf-8"><title>{title}</title>'
    return {
        "index.html": f'<!doctype html>\n<html lang="{language}">{head}\n'
        f"<h1>{title}</h1>\n{text}</html>\n"
    }


def _note(  # noqa: PLR0913  # one edition in one language
    name: str,
    language: str,
    date: str,
    title: str,
    *paragraphs: str,
    edition_of: str = "",
    translation_of: str = "",
) -> DemoItem:
    return DemoItem(
        name=name,
        record={
            **_NOTE,
            "titles": [{"value": title, "language": language}],
            "descriptions": [{"value": paragraphs[0], "language": language}],
            "subjects": [{"value": "persistent identifiers", "language": "en"}],
            "dates": [date],
            "languages": [language],
        },
        files=_page(language, title, *paragraphs),
        language=language,
        edition_of=edition_of,
        translation_of=translation_of,
        collection="notes",
    )


def _collection(name: str, titles: Mapping[str, str], texts: Mapping[str, str]) -> DemoItem:
    return DemoItem(
        name=name,
        record={
            "titles": [{"value": text, "language": code} for code, text in titles.items()],
            "descriptions": [{"value": text, "language": code} for code, text in texts.items()],
            "creators": ["Example Library"],
            "types": ["Collection"],
            "dates": ["2026"],
            "licence": "CC0-1.0",
        },
    )


_SATELLITES: Final = (
    ("Example-1", "1993-02-01"),
    ("Example-2", "1998-10-02"),
    ("Sample-1", "1999-10-03"),
    ("Sample-2", "2003-10-04"),
    ("Sample-2B", "2007-09-05"),
    ("Sample-4", "2014-12-06"),
    ("Sample-4A", "2019-12-07"),
    ("Modelo-1", "2021-02-08"),
)


def _timeline() -> str:
    first, scale, step = 1990, 18, 24
    rows = "".join(
        f'<circle cx="{(int(date[:4]) - first) * scale}" cy="{step * row}" r="5"/>'
        f'<text x="{(int(date[:4]) - first) * scale + 10}" y="{step * row + 5}">'
        f"{name} {date[:4]}</text>\n"
        for row, (name, date) in enumerate(_SATELLITES, 1)
    )
    height = step * (len(_SATELLITES) + 1)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="720" height="{height}" '
        f'font-family="sans-serif" font-size="14">\n{rows}</svg>\n'
    )


_DATA: Final = DemoItem(
    name="satellites",
    record={
        "titles": [
            {"value": "Launch dates of imaginary satellites", "language": "en"},
            {"value": "Datas de lançamento de satélites imaginários", "language": "pt"},
        ],
        "creators": ["Example Space Agency"],
        "subjects": [
            {"value": "satellites", "language": "en"},
            {"value": "satélites", "language": "pt"},
        ],
        "descriptions": [
            {"value": "A table, a drawing of it, and what to know of both.", "language": "en"},
            {"value": "Uma tabela, um desenho dela e o que saber de ambos.", "language": "pt"},
        ],
        "dates": ["2021"],
        "types": ["Dataset"],
        "formats": ["text/csv", "image/svg+xml"],
        "languages": ["en"],
        "coverages": [
            {"value": "Exampleland", "language": "en"},
            {"value": "Exemplolândia", "language": "pt"},
        ],
        "licence": "CC0-1.0",
    },
    files={
        **_page(
            "en",
            "Launch dates of imaginary satellites",
            'As a <a href="data/satellites.csv">table</a> and as a drawing:',
            '<img src="figures/timeline.svg" alt="Launches from 1993 to 2021">',
        ),
        "README.txt": "data/ has the table, figures/ the drawing. Dates are those of launches.\n",
        "data/satellites.csv": "satellite,launched\n"
        + "".join(f"{name},{date}\n" for name, date in _SATELLITES),
        "figures/timeline.svg": _timeline(),
    },
    language="en",
)

_RAIN: Final = ((2014, 1312), (2015, 987), (2016, 1104), (2017, 861), (2018, 1240))
_RIVER: Final = (
    DemoItem(
        name="rain",
        record={
            "titles": [
                {"value": "Yearly rainfall in the basin of the Example river", "language": "en"},
                {"value": "Chuva anual na bacia do rio Exemplo", "language": "pt"},
            ],
            "creators": [{"family": "Sample", "given": "Bruno"}, _AUTHOR],
            "descriptions": [
                {
                    "value": "Sums of five stations, in millimetres. The year 2017 was the driest "
                    "of a decade, and the river fell to its lowest level.",
                    "language": "en",
                },
                {
                    "value": "Somas de cinco estações, em milímetros. O ano de 2017 foi o mais "
                    "seco de uma década, e o rio chegou ao seu nível mais baixo.",
                    "language": "pt",
                },
            ],
            "subjects": ["rainfall", "hydrology"],
            "dates": ["2019"],
            "types": ["Dataset"],
            "licence": "CC-BY-4.0",
        },
        files={
            "rainfall.csv": "year,millimetres\n"
            + "".join(f"{year},{sum_}\n" for year, sum_ in _RAIN),
            "README.md": "# Rainfall\n\nSums of five stations, in millimetres a year.\n",
        },
        target="rainfall.csv",
        language="en",
        collection="river",
    ),
    DemoItem(
        name="thesis",
        record={
            "titles": [
                {"value": "Cheias e secas do rio Exemplo: um século de registros", "language": "pt"}
            ],
            "creators": [{"family": "Modelo", "given": "Carla"}],
            "descriptions": [
                {
                    "value": "As cheias do rio Exemplo seguem as chuvas de verão com um atraso de "
                    "doze dias; as secas se tornaram mais longas desde 1970.",
                    "language": "pt",
                }
            ],
            "subjects": ["hidrologia", "chuva"],
            "dates": ["2021"],
            "types": ["Thesis"],
            "licence": "CC-BY-NC-4.0",
        },
        files=_page(
            "pt",
            "Cheias e secas do rio Exemplo",
            "As cheias do rio Exemplo seguem as chuvas de verão com um atraso de doze dias.",
        ),
        language="pt",
        collection="river",
    ),
    DemoItem(
        name="map",
        record={
            "titles": [{"value": "Map of the basin of the Example river", "language": "en"}],
            "creators": ["Example Survey"],
            "descriptions": [
                {"value": "The river, its tributaries and the stations.", "language": "en"}
            ],
            "dates": ["2015"],
            "types": ["Map"],
            "licence": "CC0-1.0",
        },
        files={
            "map.svg": '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 240" width="400" '
            'height="240"><rect width="400" height="240" fill="#eef3e2"/>'
            '<path d="M20 220C90 150 130 190 200 120S320 60 390 20M120 30C140 80 160 100 186 132'
            'M330 200C290 160 270 130 262 92" fill="none" stroke="#2f6f9f" stroke-width="5"/>'
            '<g fill="#ad4a1e"><circle cx="90" cy="166" r="6"/><circle cx="200" cy="120" r="6"/>'
            '<circle cx="320" cy="62" r="6"/></g></svg>\n',
        },
        collection="river",
    ),
)

ITEMS: Final = (
    _collection(
        "notes",
        {"en": "Notes on identifiers", "pt": "Notas sobre identificadores"},
        {
            "en": "Short texts on names that last, in several editions and languages.",
            "pt": "Textos curtos sobre nomes que duram, em várias edições e idiomas.",
        },
    ),
    _collection(
        "river",
        {"en": "The Example river", "pt": "O rio Exemplo"},
        {
            "en": "Measurements, maps and studies of one river.",
            "pt": "Medições, mapas e estudos de um rio.",
        },
    ),
    _note(
        "note",
        "en",
        "1999",
        "What is an IBI?",
        "A name for what is on the Internet, that stays when the thing moves.",
        "This is the first edition. The second and the third know more.",
    ),
    _note(
        "note-pt",
        "pt",
        "1999",
        "O que é um IBI?",
        "Um nome para o que está na Internet, que fica quando a coisa muda de lugar.",
        "Esta é a primeira edição.",
        translation_of="note",
    ),
    _note(
        "note-2",
        "en",
        "2012",
        "What is an IBI? Second edition",
        "A name made of a host and a moment: nobody has to hand it out.",
        edition_of="note",
    ),
    _note(
        "note-3",
        "en",
        "2026",
        "What is an IBI? Third edition",
        "A name made of a host, or of an IP address, and of a moment: nobody has to hand it out.",
        "Whoever cites the first edition finds this one by adding an exclamation mark.",
        edition_of="note-2",
    ),
    _note(
        "note-3-pt",
        "pt",
        "2026",
        "O que é um IBI? Terceira edição",
        "Um nome feito de um host, ou de um endereço IP, e de um instante: ninguém o distribui.",
        translation_of="note-3",
    ),
    _note(
        "note-3-fr",
        "fr",
        "2026",
        "Qu'est-ce qu'un IBI ? Troisième édition",
        "Un nom fait d'un hôte, ou d'une adresse IP, et d'un instant : personne ne le distribue.",
        translation_of="note-3",
    ),
    _DATA,
    *_RIVER,
    DemoItem(
        name="service",
        record={
            "titles": [{"value": "A web service that runs elsewhere", "language": "en"}],
            "types": ["Service"],
        },
        service="https://example.org/",
    ),
    DemoItem(
        name="draft",
        record={**_NOTE, "titles": ["A draft of the note"], "languages": ["en"]},
        files=_page("en", "A draft of the note", "Full of errors."),
        language="en",
        deleted="It was a draft, full of errors.",
        replaced_by="note-3",
    ),
)
"""All items, in the order in which they are deposited."""
