"""XML that the formats write, by lxml: elements in namespaces, and text that XML admits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from lxml import etree

LANG: Final = "{http://www.w3.org/XML/1998/namespace}lang"
XSI: Final = "http://www.w3.org/2001/XMLSchema-instance"
MEDIA_TYPE: Final = "application/xml; charset=utf-8"

# XML 1.0, 2.2: characters that a document may not contain, not even as a reference.
_NOT_XML: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def root_of(name: str, namespaces: Mapping[str | None, str], schema: str) -> etree._Element:
    """Return the root of a document; `schema` is the address of the schema of its namespace."""
    known = {**namespaces, "xsi": XSI}
    root = etree.Element(name, nsmap=known)  # type: ignore[arg-type]  # the stubs know no default
    root.set(f"{{{XSI}}}schemaLocation", f"{etree.QName(root).namespace} {schema}")
    return root


def add(
    parent: etree._Element,
    name: str,
    text: str = "",
    language: str = "",
    attributes: Mapping[str, str] | None = None,
) -> etree._Element:
    """Append an element and return it; attributes without a value are left out."""
    element = etree.SubElement(parent, name)
    if text:
        element.text = admitted(text)
    for key, value in (attributes or {}).items():
        if value:
            element.set(key, admitted(value))
    if language:
        element.set(LANG, _NOT_XML.sub("", language))
    return element


def admitted(text: str) -> str:
    """Return a text with a replacement for each character that XML cannot have."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def document(root: etree._Element) -> bytes:
    """Return a document as bytes."""
    return etree.tostring(root, encoding="UTF-8", xml_declaration=True, pretty_print=True)
