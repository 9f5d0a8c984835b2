"""The requests between archives and resolver: five kinds, each a frozen value (004, 4 to 6).

Both sides use this one module, one to write a request and the other to parse it, so that they
cannot drift apart.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Final, TypeAlias, TypeVar

from ibi.errors import IbiError, MessageError
from ibi.identifier.address import canonical
from ibi.identifier.ibip import Ibip
from ibi.identifier.label import Label, parse
from ibi.identifier.limits import MAX_PORT
from ibi.identifier.verbs import COMPOSITIONS, Verb, is_composition, read_verblist
from ibi.model.archive_record import ArchiveRecord, RegistrationKey, UrlKey
from ibi.model.item import ContentType, State
from ibi.model.label_pair import Forms
from ibi.wire import access_counts as accesses
from ibi.wire.access_counts import MOST_ACCESSES, Others
from ibi.wire.query import Query, written

DEFAULT_SERVICE: Final = Ibip.parse("J8LNKB5R7W/3FUQHC5")
"""The label of the resolver service (004, section 4.1)."""

# RFC 2396, 3.2.2, as section 4.1 demands of an archive's address: hostport = host [":" port].
_HOST_AND_PORT: Final = re.compile(
    r"(?:[A-Za-z0-9][A-Za-z0-9._-]{0,252}|\[[0-9A-Fa-f:.]{2,45}\])(?::([0-9]{1,5}))?"
)
_ADDRESS_OF_MAIL: Final = re.compile(r"[^\s<>,;]{1,320}")

Pairs: TypeAlias = Iterator[tuple[str, str]]
_Read = TypeVar("_Read")


@dataclass(frozen=True, slots=True)
class Announcement:
    """The announcement that an archive is switched on or off (Table 5.2)."""

    record: ArchiveRecord
    key: RegistrationKey

    subject: ClassVar[str] = ""

    def pairs(self) -> Pairs:
        """Yield the pairs without the subject, in the order of the table."""
        yield "archiveaddress", self.record.address
        yield "archiveserviceibi", self.record.service.spelling
        yield "archiveip", self.record.ip
        yield "archiveprotocol", self.record.protocol
        yield "archiveplatformversion", self.record.platform_version
        yield "archiveadmemailaddress", self.record.administrator
        yield "registrationkey", str(self.key)


class InclusionRequest(Announcement):
    """Request of an archive that was switched on to be included."""

    __slots__ = ()
    subject = "inclusionRequest"


class ExclusionRequest(Announcement):
    """Request of an archive that is being switched off to be excluded."""

    __slots__ = ()
    subject = "exclusionRequest"


@dataclass(frozen=True, slots=True)
class InclusionConfirmationRequest:
    """Request of the resolver to an archive to confirm that it runs."""

    subject: ClassVar[str] = "inclusionConfirmationRequest"

    def pairs(self) -> Pairs:
        """Yield nothing: the request has only a subject."""
        yield from ()


@dataclass(frozen=True, slots=True)
class UrlRequest:
    """Request of the resolver for the URLs of an item (Table 6.9)."""

    clients: tuple[str, ...]
    """The IP addresses of the user and of the proxies between, the user's first (Table 6.10)."""
    label: Label
    verbs: tuple[Verb, ...] = ()
    file_list: bool = False
    path: str = ""
    """The path of a file of the item, with the leading slash of a persistent URL."""

    subject: ClassVar[str] = "urlRequest"

    def __post_init__(self) -> None:
        """Add the leading slash of the path, which Table 6.9 has and Example 7.11 has not."""
        if self.path and not self.path.startswith("/"):
            object.__setattr__(self, "path", f"/{self.path}")

    @property
    def file(self) -> str:
        """The path of the file within the item, without the slash; empty for the target file."""
        return self.path[1:]

    def pairs(self) -> Pairs:
        """Yield the pairs without the subject, in the order of the table."""
        yield "clientinformation.ipaddress", " ".join(self.clients)
        if self.path:
            yield "parsedibiurl.filepath", self.path
        yield "parsedibiurl.ibi", self.label.spelling
        verbs = [*map(str, self.verbs), *(["GetFileList"] if self.file_list else [])]
        if verbs:
            yield "parsedibiurl.verblist", " ".join(verbs)


@dataclass(frozen=True, slots=True)
class Acknowledgment:
    """Notice to an archive that a user was redirected to one of its URLs (Table 6.11)."""

    clients: tuple[str, ...]
    content: ContentType
    url: str
    persistent_url: str
    key: UrlKey
    forms: Forms | None = None
    state: State | None = None
    """Mandatory in the table, but absent in Example 6.9."""
    accesses: int = 1
    """How many users were redirected to the URL."""
    others: Others = ()
    """How many users were redirected to other items of the archive."""
    proof: str = ""
    """The proof that a linked resolver reports more than one access."""

    subject: ClassVar[str] = "acknowledgment"

    def pairs(self) -> Pairs:
        """Yield the pairs without the subject, in the order of the table."""
        yield "clientinformation.ipaddress", " ".join(self.clients)
        yield "contenttype", self.content
        if self.forms is not None:
            yield "ibi", str(self.forms)
        if self.state is not None:
            yield "state", self.state
        yield "url", self.url
        yield "url.persistent", self.persistent_url
        yield "urlkey", str(self.key)
        if self.accesses > 1:
            yield "accesses", str(self.accesses)
        if self.others:
            yield "accesses.others", accesses.written(self.others)
        if self.proof:
            yield "accesses.proof", self.proof

    @property
    def total(self) -> int:
        """The number of all accesses that it reports."""
        return accesses.total(self.accesses, self.others)


Request: TypeAlias = (
    InclusionRequest | ExclusionRequest | InclusionConfirmationRequest | UrlRequest | Acknowledgment
)


def encode(request: Request) -> str:
    """Return a request as the query of a URL."""
    return written([("servicesubject", request.subject), *request.pairs()])


def at(base_url: str, request: Request) -> str:
    """Return the URL of a request to the service at the base URL: http://<address>/<IBI>."""
    return f"{base_url}?{encode(request)}"


def decode(query: bytes | str) -> Request:
    """Parse the query of a URL; MessageError if it is not a valid request."""
    pairs = Query.parse(query)
    subject = pairs.text("servicesubject")
    read = _READERS.get(subject.lower())
    if read is None:
        raise MessageError("unknown-subject", "The servicesubject is none of this protocol.")
    return read(pairs)


def _read_url_request(pairs: Query) -> UrlRequest:
    verbs, file_list = _value(pairs, "parsedibiurl.verblist", _verbs, optional=True)
    return UrlRequest(
        clients=_value(pairs, "clientinformation.ipaddress", _clients),
        label=_value(pairs, "parsedibiurl.ibi", _label),
        verbs=verbs,
        file_list=file_list,
        path=pairs.optional("parsedibiurl.filepath"),
    )


def _read_acknowledgment(pairs: Query) -> Acknowledgment:
    count = _value(pairs, "accesses", accesses.read_accesses, optional=True)
    others = _value(pairs, "accesses.others", accesses.read_others, optional=True)
    if accesses.total(count, others) > MOST_ACCESSES:
        raise MessageError("bad-value", f"The request reports more than {MOST_ACCESSES} accesses.")
    return Acknowledgment(
        clients=_value(pairs, "clientinformation.ipaddress", _clients),
        content=_value(pairs, "contenttype", _content_type),
        url=pairs.url("url"),
        persistent_url=pairs.url("url.persistent"),
        key=_value(pairs, "urlkey", UrlKey),
        forms=_value(pairs, "ibi", _forms, optional=True),
        state=_value(pairs, "state", _state, optional=True),
        accesses=count,
        others=others,
        proof=_value(pairs, "accesses.proof", accesses.read_proof, optional=True),
    )


def _read_record(pairs: Query) -> ArchiveRecord:
    return ArchiveRecord(
        address=_value(pairs, "archiveaddress", _host_and_port),
        service=_value(pairs, "archiveserviceibi", _label),
        ip=_value(pairs, "archiveip", canonical),
        protocol=_value(pairs, "archiveprotocol", _protocol),
        platform_version=pairs.text("archiveplatformversion"),
        administrator=_value(pairs, "archiveadmemailaddress", _administrator),
    )


def _key(pairs: Query) -> RegistrationKey:
    return _value(pairs, "registrationkey", RegistrationKey)


# Literals of ABNF match in either case (RFC 5234, 2.3).
_READERS: Final[dict[str, Callable[[Query], Request]]] = {
    "inclusionrequest": lambda pairs: InclusionRequest(_read_record(pairs), _key(pairs)),
    "exclusionrequest": lambda pairs: ExclusionRequest(_read_record(pairs), _key(pairs)),
    "inclusionconfirmationrequest": lambda _: InclusionConfirmationRequest(),
    "urlrequest": _read_url_request,
    "acknowledgment": _read_acknowledgment,
}


def _value(
    pairs: Query, name: str, read: Callable[[str], _Read], *, optional: bool = False
) -> _Read:
    text = pairs.optional(name) if optional else pairs.text(name)
    try:
        return read(text)
    except IbiError as fault:
        raise MessageError("bad-value", f"The value of {name} cannot be read: {fault}") from None
    except ValueError:
        raise MessageError("bad-value", f"The value of {name} cannot be read.") from None


def _label(text: str) -> Label:
    return parse(text, strict=True)


def _forms(text: str) -> Forms | None:
    return Forms.parse(text) if text else None


def _content_type(text: str) -> ContentType:
    return ContentType(text.capitalize())


def _state(text: str) -> State | None:
    if not text:
        return None
    state = State(text.capitalize())
    if state is State.DELETED:  # a deleted item has no URL to be redirected to
        raise ValueError(text)
    return state


# Table 6.10: Rules defining the formation of a list of IPs.
#
#   lista-de-IP = IP *(SP IP)
#   IP          = IPv4 | IPv6
def _clients(text: str) -> tuple[str, ...]:
    clients = tuple(map(canonical, text.split()))
    if not clients:
        raise ValueError(text)
    return clients


def _verbs(text: str) -> tuple[tuple[Verb, ...], bool]:
    verbs, file_list = read_verblist(" ".join(text.split()))
    if not is_composition(verbs):
        orders = " ".join(COMPOSITIONS)
        raise MessageError("bad-value", f"The verbs are in no order of Table 6.2: {orders}")
    return verbs, file_list


def _host_and_port(text: str) -> str:
    address = _HOST_AND_PORT.fullmatch(text)
    if address is None or int(address[1] or "0") > MAX_PORT:
        raise ValueError(text)
    return text


def _protocol(text: str) -> str:
    if text.upper() != "HTTP":  # no other is recommended yet (section 5.2)
        raise ValueError(text)
    return "HTTP"


def _administrator(text: str) -> str:
    if _ADDRESS_OF_MAIL.fullmatch(text) is None:
        raise ValueError(text)
    return text
