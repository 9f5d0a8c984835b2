"""A client of a resolver for Python programs: where an identifier leads, and why."""

from __future__ import annotations

from typing import Any

from ibi.client.resolver import RemoteResolver
from ibi.identifier.label import Label
from ibi.identifier.persistent_url import PersistentUrl


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


def _query(wanted: str | Label | PersistentUrl, language: str) -> dict[str, str]:
    text = wanted.spelling if isinstance(wanted, Label) else str(wanted)
    return {"url": text, **({"language": language} if language else {})}
