"""The record by which a domain name tells its archive: service, address and key.

    _ibi.<host>   TXT   "v=ibi1; service=<label>; address=http://...; key=<hexadecimal>"

The name is that of the host in the label of the archive service. Tags are read as DKIM reads them
(RFC 6376, 3.2): in any order, unknown ones ignored, none twice. Other texts may stand beside it. A
name may have several records, of several archives, but only one of each service: of two that differ
nobody can say which is the forged one.

The key is an Ed25519 public key. Its private key signs what a resolver asks of an archive that
registers itself, and the text that is signed names the resolver, so that no resolver can use the
signature at another one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from ibi.errors import LabelError, ProofError, shown
from ibi.identifier.label import Label, parse
from ibi.wire.addresses import is_web_address

NAME: Final = "_ibi."
"""What precedes the name of the host."""
_VERSION: Final = "v=ibi1"
_LONGEST: Final = 2048
"""Characters of a record."""
_KEY: Final = re.compile(r"[0-9a-f]{64}")
_TITLE: Final = "IBI registration"


@dataclass(frozen=True, slots=True)
class DomainRecord:
    """What a domain name says of one archive."""

    service: Label
    address: str
    key: str
    """Hexadecimal."""

    def __str__(self) -> str:
        """Return the text of the record."""
        return (
            f"{_VERSION}; service={self.service.spelling}; address={self.address}; key={self.key}"
        )


def record_of(service: Label, texts: Iterable[str]) -> DomainRecord:
    """Return the record of a service among the texts of its name.

    Raises ProofError if there is none, if there are several, or if any record cannot be read: a
    damaged one may be of this service.
    """
    found = [_read(text) for text in texts if _is_record(text)]
    of_service = [each for each in found if each.service == service]
    if not of_service:
        others = ", ".join(shown(each.service.spelling) for each in found[:3])
        raise ProofError(
            f"A record of other archives is there: {others}." if others else "There is no record."
        )
    if len(of_service) > 1:
        raise ProofError(f"There are {len(of_service)} records of this archive: expected one.")
    return of_service[0]


def signed_text(resolver: str, service: Label, proof: str) -> bytes:
    """Return what an archive signs to register at a resolver."""
    return f"{_TITLE}\n{resolver}\n{service.canonical}\n{proof}".encode()


def _is_record(text: str) -> bool:
    return text.partition(";")[0].replace(" ", "").lower() == _VERSION


def _read(text: str) -> DomainRecord:
    if len(text) > _LONGEST:
        raise ProofError(f"A record is longer than {_LONGEST} characters.")
    tags: dict[str, str] = {}
    for part in text.split(";"):
        name, equals, value = part.partition("=")
        name = name.strip().lower()
        if not equals and not name:
            continue
        if not equals or name in tags:
            raise ProofError(f"A record cannot be read: {shown(part.strip())}.")
        tags[name] = value.strip()
    missing = [name for name in ("service", "address", "key") if not tags.get(name)]
    if missing:
        raise ProofError(f"A record lacks {' and '.join(missing)}.")
    try:
        service = parse(tags["service"], strict=True)
    except LabelError:
        raise ProofError(f"A record names no label: {shown(tags['service'])}.") from None
    if not is_web_address(tags["address"]):
        raise ProofError(f"A record has no address of the web: {shown(tags['address'])}.")
    if _KEY.fullmatch(tags["key"].lower()) is None:
        raise ProofError("A record has no key: expected 64 hexadecimal digits.")
    return DomainRecord(service, tags["address"], tags["key"].lower())
