"""The description of a label: its parts, and warnings, for people and programs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import Any, Final

from ibi.identifier.check_character import check_character
from ibi.identifier.cleanup import CleanUp
from ibi.identifier.ibip import Ibip
from ibi.identifier.instant import EPOCH, Instant
from ibi.identifier.label import Label, longest_match, read
from ibi.identifier.legacy import LegacyLabel
from ibi.identifier.repository_name import RepositoryName


class LabelWarning(StrEnum):
    """Something unusual about a valid label; the value is for programs."""

    LOOPBACK_ADDRESS = "loopback-address"
    PRIVATE_ADDRESS = "private-address"
    BEFORE_FIRST_LABEL = "before-first-label"
    IN_THE_FUTURE = "in-the-future"
    NOT_DECODABLE = "not-decodable"
    INSTANTS_DIFFER = "instants-differ"

    @property
    def sentence(self) -> str:
        """The warning as a sentence, for people."""
        return _SENTENCES[self]


_SENTENCES: Final = {
    LabelWarning.LOOPBACK_ADDRESS: "every machine has this address: others may have made it too",
    LabelWarning.PRIVATE_ADDRESS: "its address is not public: others may have made the same label",
    LabelWarning.BEFORE_FIRST_LABEL: "its date is before 1995-08-01, when the first label was made",
    LabelWarning.IN_THE_FUTURE: "its date has not come yet",
    LabelWarning.NOT_DECODABLE: "it cannot be decoded, only carried and looked up",
    LabelWarning.INSTANTS_DIFFER: "its two labels were not made at one instant",
}


@dataclass(frozen=True, slots=True)
class Description:
    """The parts of a label; a part that its form does not have is None."""

    given: str
    label: Label
    cleaned: tuple[CleanUp, ...]
    warnings: tuple[LabelWarning, ...]
    tail: str = ""

    @property
    def check_character(self) -> str | None:
        """The check character of an IBIp; None for the other forms."""
        return check_character(self.label) if isinstance(self.label, Ibip) else None

    def as_dict(self) -> dict[str, Any]:
        """Return the description as a JSON object, without parts that the label lacks."""
        label = self.label
        if isinstance(label, Ibip) or (isinstance(label, LegacyLabel) and label.host is None):
            key, value = "ip", label.ip
        else:
            key, value = "host", label.host
        described: dict[str, Any] = {
            "given": self.given,
            "kind": label.kind,
            "canonical": label.canonical,
            key: value,
            "port": label.port,
            "instant": label.instant.iso8601,
            "cleaned": self.cleaned,
            "warnings": self.warnings,
        }
        if value is None or label.port is None:
            return {key: value for key, value in described.items() if value is not None}
        return described


def describe(text: str, *, strict: bool = False, now: Instant | None = None) -> Description:
    """Parse a label and describe it; with `now`, also warn of a date in the future."""
    label = longest_match(text)
    if label is not None and len(label.spelling) == len(text):
        return Description(text, label, (), _warnings(label, now))
    reading = read(text, strict=strict, now=now)
    label = reading.label
    return Description(text, label, reading.cleaned, _warnings(label, now), reading.tail)


def pair_warnings(name: RepositoryName, ibip: Ibip) -> tuple[LabelWarning, ...]:
    """Return what is unusual about two labels that are given for one item.

    They should have the same instant. An early generator was off by an hour in summer time, so a
    difference deserves a warning, but makes neither label invalid.
    """
    return () if name.instant == ibip.instant else (LabelWarning.INSTANTS_DIFFER,)


def _warnings(label: Label, now: Instant | None) -> tuple[LabelWarning, ...]:
    warnings: tuple[LabelWarning, ...] = ()
    if not isinstance(label, RepositoryName):
        if label.ip is not None:
            warnings = address_warnings(label.ip)
        elif label.host is None:
            warnings = (LabelWarning.NOT_DECODABLE,)
    # Whole seconds decide nearly always, and are compared six times as fast.
    seconds = label.instant.seconds
    if seconds < EPOCH.seconds:
        return (*warnings, LabelWarning.BEFORE_FIRST_LABEL)
    if now is not None and seconds >= now.seconds and label.instant > now:
        return (*warnings, LabelWarning.IN_THE_FUTURE)
    return warnings


# What the first octet or piece decides alone. The IANA registries of special-purpose addresses
# have further entries, whose first pieces are in _IN_QUESTION; all other addresses are public.
# This saves nearly every label a search of the registries.
_BY_FIRST: Final = {
    "0": (LabelWarning.PRIVATE_ADDRESS,),
    "10": (LabelWarning.PRIVATE_ADDRESS,),
    "127": (LabelWarning.LOOPBACK_ADDRESS,),
} | dict.fromkeys(map(str, range(224, 256)), (LabelWarning.PRIVATE_ADDRESS,))
_IN_QUESTION: Final = frozenset(
    {"100", "169", "172", "192", "198", "203"} | {"", "64", "2001", "2002", "3fff", "5f00"}
)


@lru_cache(maxsize=4096)
def address_warnings(ip: str) -> tuple[LabelWarning, ...]:
    """Return warnings if an address, in its canonical text, may mean another machine elsewhere."""
    if "." in ip:
        first = ip.partition(".")[0]
        if first in _BY_FIRST:
            return _BY_FIRST[first]
    else:
        first = ip.partition(":")[0]
    if first not in _IN_QUESTION and first[0] != "f":
        return ()
    address = ip_address(ip)
    if address.is_loopback:
        return (LabelWarning.LOOPBACK_ADDRESS,)
    # Python regards the withdrawn site-local network fec0::/10 and multicast groups as global.
    if isinstance(address, IPv6Address) and (address.is_site_local or address.is_multicast):
        return (LabelWarning.PRIVATE_ADDRESS,)
    return () if address.is_global else (LabelWarning.PRIVATE_ADDRESS,)
