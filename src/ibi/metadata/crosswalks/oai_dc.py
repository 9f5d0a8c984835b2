"""OAI Dublin Core in XML, the format that every archive offers (004, Table 7.5)."""

from __future__ import annotations

from typing import Any, Final

from lxml import etree

from ibi.errors import LabelError, MetadataError, Sentence, shown
from ibi.identifier.label import parse
from ibi.identifier.persistent_url import PersistentUrl
from ibi.metadata.dublin_core import ELEMENTS, elements
from ibi.metadata.json_record import MOST_VALUES, record_from
from ibi.metadata.licence import licence_at
from ibi.metadata.xml_text import send_events
from ibi.metadata.xml_writing import LANG, add, document, root_of
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import MetadataRecord
from ibi.wire.addresses import is_web_address

MEDIA_TYPE: Final = "text/xml; charset=utf-8"
NAMESPACE: Final = "http://www.openarchives.org/OAI/2.0/oai_dc/"
SCHEMA: Final = "http://www.openarchives.org/OAI/2.0/oai_dc.xsd"

_DC: Final = "http://purl.org/dc/elements/1.1/"
_NAMES: Final = {f"{{{_DC}}}{name}": name for name in ELEMENTS}
_ROOT: Final = f"{{{NAMESPACE}}}dc"
_DEEPEST: Final = 2
_MULTILINE: Final = frozenset(("description",))


def element(record: MetadataRecord, forms: Forms, base: str) -> etree._Element:
    """Return the record of the item with these labels as XML; `base` begins persistent URLs.

    The identifiers are the persistent URL by the shorter label, each label as an "ibi:" name, and
    those of the record.
    """
    root = root_of(_ROOT, {"oai_dc": NAMESPACE, "dc": _DC}, SCHEMA)
    own = [PersistentUrl(forms.short).at(base), *(f"ibi:{label.spelling}" for label in forms)]
    for identifier in own:
        add(root, f"{{{_DC}}}identifier", identifier)
    for name, text in elements(record):
        add(root, f"{{{_DC}}}{name}", text.value, text.language)
    return root


def write(record: MetadataRecord, forms: Forms, base: str) -> bytes:
    """Return the same as a document."""
    return document(element(record, forms, base))


def read(content: bytes) -> MetadataRecord:
    """Parse a record; MetadataError if the document is not valid, or has a DOCTYPE.

    Identifiers that are an IBI are left out: they belong to the item, not to the record.
    """
    target = _RecordTarget()
    send_events(content, target)
    return target.record()


class _RecordTarget:
    """Collects the parser's events into a record; no tree is built, so that memory is bounded."""

    def __init__(self) -> None:
        self._depth = 0
        self._default_language = ""
        self._language = ""
        self._text: list[str] = []
        self._values: dict[str, list[Any]] = {name: [] for name in ELEMENTS}

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth == 1:
            if tag != _ROOT:
                raise MetadataError(
                    Sentence(
                        "The document begins with %(tag)s and not with oai_dc.", tag=shown(tag)
                    )
                )
            self._default_language = attributes.get(LANG, "")
            return
        name = _NAMES.get(tag)
        if name is None or self._depth > _DEEPEST:
            raise MetadataError(
                Sentence(
                    "The document has an element %(tag)s where oai_dc has none.", tag=shown(tag)
                )
            )
        if len(self._values[name]) >= MOST_VALUES:
            raise MetadataError(
                Sentence(
                    "The element %(name)s has more than %(most)s values.",
                    name=name,
                    most=MOST_VALUES,
                )
            )
        self._language = attributes.get(LANG, self._default_language)
        self._text = []

    def data(self, text: str) -> None:
        if self._depth == _DEEPEST:
            self._text.append(text)

    def end(self, tag: str) -> None:
        self._depth -= 1
        if self._depth:
            name = _NAMES[tag]
            text = "".join(self._text)
            value = text if name in _MULTILINE else _one_line(text)
            self._values[name].append({"value": value, "language": self._language})

    def close(self) -> None:
        """Do nothing; lxml requires this of a target."""

    def record(self) -> MetadataRecord:
        plain: dict[str, Any] = {}
        for name, values in self._values.items():
            tagged = name in _TAGGED
            plain[name] = values if tagged else [value["value"] for value in values]
        plain["identifier"] = _without_own(plain["identifier"])
        plain["rights"], plain["licence"] = _licence_apart(plain["rights"])
        return record_from(plain)


_TAGGED: Final = frozenset(("title", "subject", "description", "coverage", "rights"))


def _one_line(text: str) -> str:
    """Join the lines into which the writer of a document broke a text."""
    if not any(character in text for character in "\t\r\n"):
        return text
    return " ".join(text.split())


def _without_own(identifiers: list[str]) -> list[str]:
    """Leave out the item's own identifiers: "ibi:" names, and the URLs that end in one."""
    own = [text for text in identifiers if _is_ibi(text)]
    ends = tuple(f"/{text.removeprefix('ibi:')}" for text in own)
    return [
        text
        for text in identifiers
        if text not in own and not (is_web_address(text) and text.endswith(ends))
    ]


def _is_ibi(text: str) -> bool:
    if not text.startswith("ibi:"):
        return False
    try:
        parse(text.removeprefix("ibi:"), strict=True)
    except LabelError:
        return False
    return True


def _licence_apart(rights: list[dict[str, str]]) -> tuple[list[dict[str, str]], str]:
    """Return the rights without the last one that is an address, and that one as the licence."""
    for place in reversed(range(len(rights))):
        if is_web_address(rights[place]["value"].strip()):
            licence = licence_at(rights[place]["value"].strip())
            return rights[:place] + rights[place + 1 :], licence
    return rights, ""
