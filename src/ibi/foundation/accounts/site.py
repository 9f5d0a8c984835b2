"""What the pages for people with accounts share: templates, accounts, sessions, and the site."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Protocol, TypeAlias, TypeVar

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ibi.foundation.accounts.accounts import Accounts
from ibi.foundation.accounts.sessions import Sessions
from ibi.foundation.accounts.visitors import SessionVisitors
from ibi.foundation.pages.response import page_response
from ibi.foundation.pages.templates import Page
from ibi.foundation.translation.language import preference_of
from ibi.foundation.web.form_tokens import Origins
from ibi.foundation.web.page_operations import here_of
from ibi.identifier.language_preference import LanguagePreference
from ibi.model.clock import Clock

RenderPage: TypeAlias = Callable[[str, object, LanguagePreference, str], Page]
"""Renders a template by its name, for a view, a reader's preference, and the page's own path."""
NoteAct: TypeAlias = Callable[[str, str, Mapping[str, object]], Awaitable[None]]
"""Records an act, the person who did it, and its details in the history of the program."""
T = TypeVar("T")


class Mailer(Protocol):
    """Sends messages to people."""

    def send(self, recipient: str, subject: str, text: str) -> None:
        """Send one message; MailError if it is not accepted."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountSite:
    """One archive or resolver, as its pages for people with accounts need it."""

    accounts: Accounts
    sessions: Sessions
    visitors: SessionVisitors
    origins: Origins
    clock: Clock
    address: str
    """The public address, without a slash at its end."""
    name: str
    render: RenderPage
    network: Callable[[Request], str]
    """Returns the network that a request comes from, by which guesses are limited."""
    note: NoteAct
    mailer: Mailer | None = None
    """None if no mail server is set: then no page offers a message."""

    def page(
        self, request: Request, template: str, view: object, status: int = HTTPStatus.OK
    ) -> Response:
        """Return a page in the language of its reader."""
        return page_response(
            self.render(template, view, preference(request), here_of(request)), status
        )

    def url(self, path: str) -> str:
        """Return a path of the site as a URL, for people who are elsewhere."""
        return f"{self.address}{path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FormView:
    """A form as it is shown again: what was typed, and the fault of each field."""

    filled: Mapping[str, str] = field(default_factory=dict)
    faults: Mapping[str, str] = field(default_factory=dict)

    def value(self, name: str) -> str:
        """Return what was typed into a field."""
        return self.filled.get(name, "")

    def fault(self, name: str) -> str:
        """Return the fault of a field; empty if there is none."""
        return self.faults.get(name, "")


def preference(request: Request) -> LanguagePreference:
    """Return the languages that a reader prefers: the one chosen by a link first."""
    chosen = request.query_params.get("lang", "")
    return preference_of(request.headers.get("accept-language", ""), chosen)


def see_other(path: str, request: Request | None = None) -> Response:
    """Lead the browser to another page after a form, in the same language."""
    chosen = request.query_params.get("lang", "") if request is not None else ""
    if chosen.isalpha() and "lang=" not in path:
        before, mark, fragment = path.partition("#")
        path = f"{before}{'&' if '?' in before else '?'}lang={chosen}{mark}{fragment}"
    return RedirectResponse(path, HTTPStatus.SEE_OTHER)


async def run(work: Callable[[], T]) -> T:
    """Run what reads the database, or hashes, beside the event loop."""
    return await asyncio.to_thread(work)
