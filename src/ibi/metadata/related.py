"""Identifiers of related items: how each scheme writes them, and where they lead."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from ibi.errors import LabelError, MetadataError, Sentence, shown
from ibi.identifier.label import parse
from ibi.model.metadata_record import RelatedIdentifier
from ibi.wire.addresses import is_web_address

DOI: Final = re.compile(r"10\.[0-9]{4,9}/[^\s\x00-\x1f\"<>{}\\^|`]{1,300}")
"""A DOI as its registry recommends to match it, without its address."""

_ANY: Final = re.compile(r"[^\s\x00-\x20]{1,2048}")
_ARK: Final = re.compile(r"ark:/?[0-9A-Za-z]{1,32}/[^\s]{1,500}")
_HANDLE: Final = re.compile(r"[0-9A-Za-z.]{1,64}/[^\s]{1,500}")
_ISBN: Final = re.compile(r"[0-9][0-9-]{8,15}[0-9Xx]")
_ISSN: Final = re.compile(r"[0-9]{4}-?[0-9]{3}[0-9Xx]")
_PMID: Final = re.compile(r"[0-9]{1,12}")
_FORMS: Final[Mapping[str, re.Pattern[str]]] = {
    "DOI": DOI,
    "ARK": _ARK,
    "Handle": _HANDLE,
    "ISBN": _ISBN,
    "ISSN": _ISSN,
    "EISSN": _ISSN,
    "LISSN": _ISSN,
    "PMID": _PMID,
}
"""The schemes whose form is checked; of the others any text without a blank is taken."""
_BEFORE_DOI: Final = re.compile(r"(?:https?://(?:dx\.|www\.)?doi\.org/|doi:\s?)", re.IGNORECASE)
_BEFORE_ARK: Final = re.compile(r"https?://[^/\s]{1,200}/(?=ark:)", re.IGNORECASE)
_BEFORE_HANDLE: Final = re.compile(r"(?:https?://hdl\.handle\.net/|hdl:\s?)", re.IGNORECASE)
_BEFORE_ARXIV: Final = re.compile(r"(?:https?://arxiv\.org/abs/|arxiv:\s?)", re.IGNORECASE)
_BEFORE_ISBN: Final = re.compile(r"(?:urn:)?isbn[:\s]\s?", re.IGNORECASE)
_BEFORE_ISSN: Final = re.compile(r"(?:urn:)?issn[:\s]\s?", re.IGNORECASE)
_BEFORE_PMID: Final = re.compile(
    r"(?:https?://pubmed\.ncbi\.nlm\.nih\.gov/|pmid:\s?)", re.IGNORECASE
)
_BEFORE_IBI: Final = re.compile(r"ibi:", re.IGNORECASE)
_PREFIXES: Final[Mapping[str, re.Pattern[str]]] = {
    "DOI": _BEFORE_DOI,
    "ARK": _BEFORE_ARK,
    "Handle": _BEFORE_HANDLE,
    "arXiv": _BEFORE_ARXIV,
    "ISBN": _BEFORE_ISBN,
    "ISSN": _BEFORE_ISSN,
    "PMID": _BEFORE_PMID,
    "IBI": _BEFORE_IBI,
}
"""What people write before an identifier of a scheme, and is no part of it."""
_ADDRESSES: Final[Mapping[str, str]] = {
    "DOI": "https://doi.org/",
    "ARK": "https://n2t.net/",
    "Handle": "https://hdl.handle.net/",
    "PMID": "https://pubmed.ncbi.nlm.nih.gov/",
    "arXiv": "https://arxiv.org/abs/",
}


def read_identifier(scheme: str, text: str) -> str:
    """Return an identifier without its address; MetadataError if it is not one of the scheme."""
    prefix = _PREFIXES.get(scheme)
    found = prefix.match(text) if prefix else None
    bare = (text[found.end() :] if found else text).strip().removesuffix("/")
    if not _is_of(scheme, bare):
        raise MetadataError(
            Sentence(
                "%(text)s is not an identifier of the kind %(scheme)s.",
                text=shown(text),
                scheme=scheme,
            )
        )
    return text.strip() if scheme in {"URL", "PURL", "w3id"} else bare


def _is_of(scheme: str, text: str) -> bool:
    if scheme in {"URL", "PURL", "w3id"}:
        return is_web_address(text)
    if scheme == "IBI":
        return _is_label(text)
    return _FORMS.get(scheme, _ANY).fullmatch(text) is not None


def _is_label(text: str) -> bool:
    try:
        parse(text, strict=True)
    except LabelError:
        return False
    return True


def scheme_of(text: str) -> tuple[str, str]:
    """Return the scheme of an identifier by its form, and the bare identifier; empty if unknown."""
    for scheme, prefix in _PREFIXES.items():
        found = prefix.match(text)
        if found and _is_of(scheme, text[found.end() :].removesuffix("/")):
            return scheme, text[found.end() :].removesuffix("/")
    if DOI.fullmatch(text):
        return "DOI", text
    if is_web_address(text):
        return "URL", text
    if text.lower().startswith("urn:") and _ANY.fullmatch(text):
        return "URN", text
    return ("IBI", text) if _is_label(text) else ("", text)


def address_of(related: RelatedIdentifier) -> str:
    """Return where a related identifier leads on the web; empty if that is not known.

    An IBI leads to no place of its own: a page links it to its resolver.
    """
    if is_web_address(related.identifier):
        return related.identifier
    base = _ADDRESSES.get(related.scheme, "")
    address = f"{base}{related.identifier}"
    return address if base and is_web_address(address) else ""


def name_of(related: RelatedIdentifier) -> str:
    """Return a related identifier as one text: its address, else with its scheme before it."""
    if related.scheme.upper() == "URN":
        return related.identifier
    return address_of(related) or f"{related.scheme.lower()}:{related.identifier}"
