"""Messages as a mail server hands them over: one by a pipe, or many in an mbox file or a Maildir.

An alias `|ibi resolver mail` gives each message to a program of its own. Whatever a stranger sends
is read as far as it makes sense; parsers of mail have raised almost anything, so that here only
ResolverRequestError remains.
"""

from __future__ import annotations

import codecs
import mailbox
from collections.abc import Iterator
from contextlib import closing
from email import message_from_bytes
from email.headerregistry import AddressHeader
from email.message import EmailMessage
from email.policy import EmailPolicy
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeAlias, cast

from ibi.errors import ResolverRequestError, shown
from ibi.wire.percent_encoding import text_of

LARGEST: Final = 1024 * 1024
"""Bytes of a message: a registration has a few hundred, and what programs add to it some more."""
LONGEST_HEADER: Final = 4096
"""Characters that are read of a header: its parser takes quadratic time for hostile ones."""
MOST_PARTS: Final = 100
"""Lines that may divide a message into parts: they also bound how deep those are nested."""
_NOT_OF_MAIL: Final = ("punycode", "idna")
"""What Python takes for charsets, and takes quadratic time for."""

Message: TypeAlias = tuple[str, str, str]
"""Subject, the address of the sender, and text; empty where there is none."""


class _BoundedHeaders(EmailPolicy):
    """Reads headers as RFC 5322 has them, and no further than there is sense in them."""

    def header_fetch_parse(self, name: str, value: str) -> Any:  # noqa: ANN401  # as it is there
        return super().header_fetch_parse(name, value[:LONGEST_HEADER])


_POLICY: Final = _BoundedHeaders()


def messages(source: BinaryIO | Path) -> Iterator[Message]:
    """Yield the messages of a pipe, of an mbox file or of a Maildir.

    Those that programs send on their own are left out: nobody answers them (RFC 3834, 2). In a box
    so are those that are too large or that make no sense, because others come after them.
    """
    if isinstance(source, Path):
        for octets in _in_box(source):
            if len(octets) <= LARGEST:
                yield from _sensible(octets)
        return
    octets = source.read(LARGEST + 1)
    if len(octets) > LARGEST:
        raise ResolverRequestError(
            f"The message is too large: a registration has {LARGEST} bytes at the most."
        )
    yield from _read(octets)


def _in_box(path: Path) -> Iterator[bytes]:
    try:
        box: mailbox.Mailbox[Any] = (
            mailbox.Maildir(path, create=False) if path.is_dir() else _mbox(path)
        )
        with closing(box):
            for key in box.iterkeys():
                with closing(box.get_file(key)) as file:
                    yield file.read(LARGEST + 1)
    except (OSError, mailbox.Error):
        raise ResolverRequestError(
            f"{shown(str(path))} cannot be read: expected an mbox file or a Maildir."
        ) from None


def _mbox(path: Path) -> mailbox.mbox:
    with path.open("rb") as file:
        if file.read(5) not in {b"", b"From "}:
            raise mailbox.FormatError
    return mailbox.mbox(path, create=False)


def _sensible(octets: bytes) -> Iterator[Message]:
    try:
        yield from _read(octets)
    except ResolverRequestError:
        return


def _read(octets: bytes) -> Iterator[Message]:
    if octets.count(b"\n--") + octets.count(b"\r--") > MOST_PARTS:
        raise ResolverRequestError(
            f"The message has too many parts: a registration has {MOST_PARTS} at the most."
        )
    try:
        # The class is the policy's, which the types do not say of a policy of one's own.
        message = cast("EmailMessage", message_from_bytes(octets, policy=_POLICY))
        automatic = str(message.get("Auto-Submitted", "no")).partition(";")[0].strip().lower()
        read = str(message.get("Subject", "")), _sender(message), _text(message)
    except Exception:  # noqa: BLE001  # see above
        raise ResolverRequestError(
            "The message makes no sense: expected one of RFC 5322, with plain text."
        ) from None
    if automatic == "no":
        yield read


def _sender(message: EmailMessage) -> str:
    header = message.get("From")
    if isinstance(header, AddressHeader) and header.addresses:
        return header.addresses[0].addr_spec
    return ""


def _text(message: EmailMessage) -> str:
    part = message.get_body(preferencelist=("plain",))
    octets = part.get_payload(decode=True) if part is not None else None
    if part is None or not isinstance(octets, bytes):
        return ""
    try:
        charset = codecs.lookup(part.get_content_charset("utf-8")).name
        return octets.decode("utf-8" if charset in _NOT_OF_MAIL else charset)
    except (LookupError, ValueError):  # a charset that nobody knows, or that it is not in
        return text_of(octets)
