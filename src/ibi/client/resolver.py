"""Clients of a running resolver: `ibi.Client` for Python programs, and its whole HTTP API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from email.message import EmailMessage
from typing import Any, Final
from urllib.parse import quote

from ibi.errors import ResolverRefusedError, ResolverRequestError, ResolverUnreachableError
from ibi.foundation.http_client.api_client import RemoteApi
from ibi.identifier.label import Label
from ibi.identifier.persistent_url import PersistentUrl
from ibi.wire.addresses import is_mail_address

_PAGE: Final = "1000"
_MESSAGE: Final = "message/rfc822"
_LONGEST_SUBJECT: Final = 500


class RemoteResolver(RemoteApi):
    """The API of one resolver, used with a token if there is one."""

    service = "a resolver"
    unusable = ResolverRequestError
    unreachable = ResolverUnreachableError
    refused = ResolverRefusedError

    def act(self, service: str, act: str) -> Any:  # noqa: ANN401
        """Apply an operation to an archive on record."""
        return self.ask("POST", f"{archive_path(service)}/{act}")

    def pages(self, path: str, query: Mapping[str, str] | None = None) -> Iterator[dict[str, Any]]:
        """Yield all entries of a list that comes in pages, under the name of the path."""
        after = "0"
        while after:
            page = self.ask("GET", path, query={**(query or {}), "after": after, "limit": _PAGE})
            yield from page[path]
            after = page["after"]

    def send_message(self, subject: str, sender: str, text: str) -> Any:  # noqa: ANN401
        """Submit an e-mail that registers an archive."""
        message = _message(subject, sender, text)
        return self._asked("POST", "registrations/mail", message, _MESSAGE)


class Client:
    """Sends questions to one resolver.

    >>> client = Client("http://127.0.0.1:8800")  # doctest: +SKIP
    >>> client.resolve("8JMKD3MGP7W/3EPGUE5!")  # doctest: +SKIP
    'http://archive.example.org/col/...'
    """

    def __init__(self, resolver: str) -> None:
        """Take the resolver's address; no connection is made before the first question."""
        self._resolver = RemoteResolver(resolver, "")

    def resolve(self, wanted: str | Label | PersistentUrl, *, language: str = "") -> str:
        """Return the URL that a label or persistent URL leads to; no access is counted.

        Raises ResolverRefusedError if it leads nowhere: `status` is 404 if no archive has the item,
        410 if it was deleted, 409 if several archives claim the Original, and 503 if not all
        archives have answered.
        """
        answer = self._resolver.ask("GET", "resolve", query=_query(wanted, language))
        return str(answer["location"])

    def explain(self, wanted: str | Label | PersistentUrl, *, language: str = "") -> dict[str, Any]:
        """Return the archives asked, their answers, the hops, and the reason of the outcome."""
        answer: dict[str, Any] = self._resolver.ask(
            "GET", "explain", query=_query(wanted, language)
        )
        return answer

    def archives(self) -> list[dict[str, Any]]:
        """Return the archives of the resolver with their states."""
        answer: list[dict[str, Any]] = self._resolver.ask("GET", "archives")["archives"]
        return answer


def archive_path(service: str) -> str:
    """Return the path of an archive in the API."""
    return f"archives/{quote(service, safe='')}"


def _message(subject: str, sender: str, text: str) -> bytes:
    """Return a new message with these parts; characters that a message cannot have are replaced."""
    message = EmailMessage()
    message["Subject"] = " ".join(_encodable(subject).split())[:_LONGEST_SUBJECT]
    # Without an address to reply to, the resolver itself must refuse the message.
    message["From"] = sender if is_mail_address(sender) else "<>"
    message.set_content(_encodable(text), cte="base64")
    return message.as_bytes()


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _query(wanted: str | Label | PersistentUrl, language: str) -> dict[str, str]:
    text = wanted.spelling if isinstance(wanted, Label) else str(wanted)
    return {"url": text, **({"language": language} if language else {})}
