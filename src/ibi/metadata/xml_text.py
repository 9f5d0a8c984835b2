"""XML from outside: no DOCTYPE, so no entities and nothing that is loaded from elsewhere."""

from __future__ import annotations

import re
from typing import Final, cast

from lxml import etree

from ibi.errors import MetadataError, Sentence, shown

LARGEST_DOCUMENT: Final = 1_048_576
"""The largest document that is read, in bytes."""

_SPACE: Final = re.compile(r"[ \t\r\n]+")


def send_events(document: bytes, target: object) -> None:
    """Give the events of a document to a target of lxml; MetadataError if it is not valid."""
    _parsed(document, target)


def parsed(document: bytes) -> etree._Element:
    """Return the root of a document; MetadataError if it is not valid."""
    return cast("etree._Element", _parsed(document))  # noqa: SLF001  # the only name that it has


def root_name(document: bytes) -> str:
    """Return the name of the root with its namespace in braces; MetadataError as `parsed`."""
    return str(parsed(document).tag)


def _parsed(document: bytes, target: object = None) -> object:
    if len(document) > LARGEST_DOCUMENT:
        raise MetadataError(
            Sentence("The document is larger than %(document)s bytes.", document=LARGEST_DOCUMENT)
        )
    _refuse_doctype(_decoded(document))
    # The encoding is set here and not taken from the document, so that the parser cannot see a
    # DOCTYPE where the check above saw none. The other settings are a second defence.
    parser = etree.XMLParser(
        target=cast("etree.ParserTarget", target),  # the stubs ask for more than lxml does
        encoding="utf-8",
        resolve_entities=False,
        load_dtd=False,
        dtd_validation=False,
        no_network=True,
        huge_tree=False,
    )
    try:
        return etree.fromstring(document, parser)
    except etree.LxmlError as error:
        raise MetadataError(
            Sentence("The document is not well-formed XML: %(error)s.", error=shown(str(error)))
        ) from None


def _decoded(document: bytes) -> str:
    try:
        return document.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise MetadataError(Sentence("The document is not encoded in UTF-8.")) from None


def _refuse_doctype(text: str) -> None:
    """Raise if there is a DOCTYPE, which can only precede the first element, before parsing.

    prolog = XMLDecl? Misc* (doctypedecl Misc*)?   Misc = Comment | PI | S   (XML 1.0, 2.8)
    """
    at = 0
    while True:
        space = _SPACE.match(text, at)
        at = space.end() if space else at
        if text.startswith("<?", at):
            at = _after(text, "?>", at)
        elif text.startswith("<!--", at):
            at = _after(text, "-->", at + len("<!--"))
        elif text.startswith("<!", at):
            raise MetadataError(Sentence("The document has a DOCTYPE, which is not read here."))
        else:
            return


def _after(text: str, end: str, start: int) -> int:
    found = text.find(end, start)
    if found < 0:
        raise MetadataError(
            Sentence("The document is not well-formed XML: it ends before it begins.")
        )
    return found + len(end)
