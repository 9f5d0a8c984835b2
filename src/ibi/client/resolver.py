"""A resolver on another machine, or in another process: its API over HTTP."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from email.message import EmailMessage
from typing import Any, Final
from urllib.parse import quote

from ibi.errors import ResolverRefusedError, ResolverRequestError, ResolverUnreachableError
from ibi.foundation.http_client.api_client import RemoteApi
from ibi.wire.mail_address import is_mail_address

_PAGE: Final = "1000"
_MESSAGE: Final = "message/rfc822"
_LONGEST_SUBJECT: Final = 500


class RemoteResolver(RemoteApi):
    """Speaks to one resolver, with a token if there is one."""

    service = "a resolver"
    unusable = ResolverRequestError
    unreachable = ResolverUnreachableError
    refused = ResolverRefusedError

    def act(self, service: str, act: str) -> Any:  # noqa: ANN401
        """Do something to an archive on record."""
        return self.ask("POST", f"{archive_path(service)}/{act}")

    def pages(self, path: str, query: Mapping[str, str] | None = None) -> Iterator[dict[str, Any]]:
        """Go through what is listed in pages, each a list of the name of the path."""
        after = "0"
        while after:
            page = self.ask("GET", path, query={**(query or {}), "after": after, "limit": _PAGE})
            yield from page[path]
            after = page["after"]

    def send_message(self, subject: str, sender: str, text: str) -> Any:  # noqa: ANN401
        """Hand over an e-mail that registers an archive."""
        message = _message(subject, sender, text)
        return self._asked("POST", "registrations/mail", message, _MESSAGE)


def archive_path(service: str) -> str:
    """Return where the API has an archive."""
    return f"archives/{quote(service, safe='')}"


def _message(subject: str, sender: str, text: str) -> bytes:
    """Write a message that was read, once more: what cannot stand in one is replaced."""
    message = EmailMessage()
    message["Subject"] = " ".join(_encodable(subject).split())[:_LONGEST_SUBJECT]
    # Where there is no address that could be answered, the resolver is to say so.
    message["From"] = sender if is_mail_address(sender) else "<>"
    message.set_content(_encodable(text), cte="base64")
    return message.as_bytes()


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
