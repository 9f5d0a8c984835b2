"""E-mail messages as a mail server delivers them: one by a pipe, or many in an mbox or a Maildir.

An alias `|ibi resolver mail` starts a program for each message. Foreign messages are read as far as
they are valid; the parsers of the standard library have raised almost any exception, so that all
are converted to ResolverRequestError here.
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

MAX_MESSAGE: Final = 1024 * 1024
"""The largest message in bytes: a registration has a few hundred, and mail programs add more."""
LONGEST_HEADER: Final = 4096
"""Characters of a header that are read: its parser takes quadratic time for hostile ones."""
MOST_PARTS: Final = 100
"""The largest number of lines that may separate parts, which also limits their nesting."""
_NOT_OF_MAIL: Final = ("punycode", "idna")
"""Codecs of Python that are not charsets, and that take quadratic time."""

Message: TypeAlias = tuple[str, str, str]
"""Subject, sender's address and text; empty if absent."""


class _BoundedHeaders(EmailPolicy):
    """Parses headers by RFC 5322, up to the longest length."""

    def header_fetch_parse(self, name: str, value: str) -> Any:  # noqa: ANN401  # as it is there
        return super().header_fetch_parse(name, value[:LONGEST_HEADER])


_POLICY: Final = _BoundedHeaders()


def messages(source: BinaryIO | Path) -> Iterator[Message]:
    """Yield the messages of a pipe, of an mbox file or of a Maildir.

    Messages that programs sent automatically are left out: they must not be answered (RFC 3834, 2).
    In a mailbox so are those that are too large or not valid, because others follow.
    """
    if isinstance(source, Path):
        for octets in _in_box(source):
            if len(octets) <= MAX_MESSAGE:
                yield from _sensible(octets)
        return
    octets = source.read(MAX_MESSAGE + 1)
    if len(octets) > MAX_MESSAGE:
        raise ResolverRequestError(
            f"The message is too large: a registration has {MAX_MESSAGE} bytes at the most."
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
                    yield file.read(MAX_MESSAGE + 1)
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
        # The class comes from the policy, which the types do not express for a policy of one's own.
        message = cast("EmailMessage", message_from_bytes(octets, policy=_POLICY))
        automatic = str(message.get("Auto-Submitted", "no")).partition(";")[0].strip().lower()
        read = str(message.get("Subject", "")), _sender(message), _text(message)
    except Exception:  # noqa: BLE001  # see above
        raise ResolverRequestError(
            "The message cannot be read: expected one of RFC 5322, with plain text."
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
    except (LookupError, ValueError):  # an unknown charset, or a wrong one
        return text_of(octets)
