"""Answers of OAI-PMH 2.0 as XML, valid by OAI-PMH.xsd."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, cast

from lxml import etree

from ibi.identifier.instant import Instant
from ibi.metadata.xml_writing import XSI, add, admitted

NAMESPACE: Final = "http://www.openarchives.org/OAI/2.0/"
SCHEMA: Final = "http://www.openarchives.org/OAI/2.0/OAI-PMH.xsd"
_IDENTIFIER: Final = "http://www.openarchives.org/OAI/2.0/oai-identifier"
# The stubs of lxml know no default namespace.
_NAMES: Final = cast("dict[str, str]", {None: NAMESPACE, "xsi": XSI})
_IDENTIFIER_NAMES: Final = cast("dict[str, str]", {None: _IDENTIFIER})


@dataclass(frozen=True, slots=True)
class Fault:
    """An error of the protocol."""

    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """The answer to Identify."""

    name: str
    address: str
    """The address at which requests are answered."""
    administrator: str
    """An e-mail address."""
    earliest: int
    """A second of POSIX time that is not later than any datestamp."""
    identifier: str
    """The middle of the identifiers of items, if it is a domain name; otherwise empty."""
    sample: str
    """An identifier as those of items."""


@dataclass(frozen=True, slots=True)
class FormatNote:
    """A metadata format, as it is listed."""

    prefix: str
    schema: str
    namespace: str


@dataclass(frozen=True, slots=True)
class SetNote:
    """A set, as it is listed."""

    spec: str
    name: str


@dataclass(frozen=True, slots=True)
class Header:
    """What is said of an item in every format."""

    identifier: str
    stamp: int
    """A second of POSIX time."""
    sets: tuple[str, ...]
    deleted: bool


@dataclass(frozen=True, slots=True)
class Record:
    """An item in one format; without metadata, if it is deleted."""

    header: Header
    metadata: etree._Element | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a list, and how it goes on."""

    entries: tuple[Header | Record | SetNote, ...]
    token: str = ""
    """The token for the rest; empty at the end."""
    before: int = 0
    """How many entries were sent before these."""


Body: TypeAlias = Fault | Repository | tuple[FormatNote, ...] | Record | Part
"""The content of an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer to one request."""

    address: str
    """The address at which requests are answered."""
    now: int
    """The second of the answer, in POSIX time."""
    verb: str = ""
    arguments: Sequence[tuple[str, str]] = ()
    """The arguments of the request; none if it was not understood."""
    body: Body


def write(answer: Answer) -> bytes:
    """Return an answer as a document."""
    root = etree.Element(_name("OAI-PMH"), nsmap=_NAMES)
    root.set(f"{{{XSI}}}schemaLocation", f"{NAMESPACE} {SCHEMA}")
    _add(root, "responseDate", _moment(answer.now))
    request = _add(root, "request", answer.address)
    for name, value in answer.arguments:
        request.set(name, admitted(value))
    if isinstance(answer.body, Fault):
        _add(root, "error", answer.body.message).set("code", answer.body.code)
    else:
        _write_body(etree.SubElement(root, _name(answer.verb)), answer.body)
    return etree.tostring(root, encoding="UTF-8", xml_declaration=True)


def _write_body(
    parent: etree._Element, body: Repository | tuple[FormatNote, ...] | Record | Part
) -> None:
    match body:
        case Repository():
            _write_repository(parent, body)
        case Record():
            _write_record(parent, body)
        case Part():
            _write_part(parent, body)
        case _:
            for note in body:
                element = etree.SubElement(parent, _name("metadataFormat"))
                _add(element, "metadataPrefix", note.prefix)
                _add(element, "schema", note.schema)
                _add(element, "metadataNamespace", note.namespace)


def _write_repository(parent: etree._Element, body: Repository) -> None:
    _add(parent, "repositoryName", body.name)
    _add(parent, "baseURL", body.address)
    _add(parent, "protocolVersion", "2.0")
    _add(parent, "adminEmail", body.administrator)
    _add(parent, "earliestDatestamp", _moment(body.earliest))
    _add(parent, "deletedRecord", "persistent")
    _add(parent, "granularity", "YYYY-MM-DDThh:mm:ssZ")
    if not body.identifier:
        return
    # Guidelines for the oai-identifier format, version 2.
    described = etree.SubElement(parent, _name("description"))
    scheme = etree.SubElement(
        described, f"{{{_IDENTIFIER}}}oai-identifier", nsmap=_IDENTIFIER_NAMES
    )
    scheme.set(f"{{{XSI}}}schemaLocation", f"{_IDENTIFIER} {_IDENTIFIER}.xsd")
    for name, text in (
        ("scheme", "oai"),
        ("repositoryIdentifier", body.identifier),
        ("delimiter", ":"),
        ("sampleIdentifier", body.sample),
    ):
        etree.SubElement(scheme, f"{{{_IDENTIFIER}}}{name}").text = text


def _write_part(parent: etree._Element, part: Part) -> None:
    for entry in part.entries:
        match entry:
            case Header():
                _write_header(parent, entry)
            case Record():
                _write_record(parent, entry)
            case SetNote():
                element = etree.SubElement(parent, _name("set"))
                _add(element, "setSpec", entry.spec)
                _add(element, "setName", entry.name)
    # An empty token ends a list that had parts.
    if part.token or part.before:
        _add(parent, "resumptionToken", part.token).set("cursor", str(part.before))


def _write_record(parent: etree._Element, record: Record) -> None:
    element = etree.SubElement(parent, _name("record"))
    _write_header(element, record.header)
    if record.metadata is not None:
        etree.SubElement(element, _name("metadata")).append(record.metadata)


def _write_header(parent: etree._Element, header: Header) -> None:
    element = etree.SubElement(parent, _name("header"))
    if header.deleted:
        element.set("status", "deleted")
    _add(element, "identifier", header.identifier)
    _add(element, "datestamp", _moment(header.stamp))
    for spec in header.sets:
        _add(element, "setSpec", spec)


def _add(parent: etree._Element, name: str, text: str) -> etree._Element:
    return add(parent, _name(name), text)


def _name(name: str) -> str:
    return f"{{{NAMESPACE}}}{name}"


def _moment(second: int) -> str:
    return Instant(second).iso8601
