"""The frame of the pages of administrators: their tabs, and the page that asks for a yes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final, NamedTuple, TypeAlias

from starlette.requests import Request
from starlette.responses import Response

from ibi.foundation.pages.response import page_response
from ibi.foundation.pages.templates import Page
from ibi.foundation.translation.language import preference_of
from ibi.foundation.web.page_operations import PageRequest, here_of
from ibi.identifier.language_preference import LanguagePreference

ADMIN: Final = "/admin"
"""The path of the first of these pages."""
RenderPage: TypeAlias = Callable[[str, object, LanguagePreference, str], Page]
"""Renders a template by its name, for a view, a reader's preference, and the page's own path."""


class Tab(NamedTuple):
    """A page that the others lead to."""

    path: str
    name: str
    """A Sentence, which pages translate."""
    scope: str
    """The scope that the page needs."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What surrounds the view of a page."""

    view: object
    tabs: tuple[Tab, ...]
    current: str
    """The path of the tab that is open."""
    may_administer: bool
    """Whether the reader has the highest scope."""
    now: int
    """In nanoseconds of POSIX time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """An act that needs a yes, and what it does."""

    title: str
    consequences: tuple[str, ...]
    act: str
    """What the button says."""
    path: str
    """Where the yes is sent."""
    fields: Mapping[str, str] = field(default_factory=dict)
    back: str


class AdminSite:
    """Shows the pages of administrators of one program."""

    def __init__(
        self, render: RenderPage, tabs: Sequence[Tab], highest: str, now: Callable[[], int]
    ) -> None:
        """`highest` is the highest scope; `now` returns the present time in nanoseconds."""
        self._render = render
        self._tabs = tabs
        self._highest = highest
        self._now = now

    def page(
        self,
        request: PageRequest,
        template: str,
        view: object,
        tab: str,
        status: int = HTTPStatus.OK,
    ) -> Response:
        """Return a page of a tab, for the scopes of its reader."""
        scopes = request.visitor.scopes
        tabs = tuple(each for each in self._tabs if each.scope in scopes)
        frame = Frame(view, tabs, tab, self._highest in scopes, self._now())
        page = self._render(template, frame, _preference(request), here_of(request))
        return page_response(page, status)

    def ask(self, request: PageRequest, question: Question, tab: str) -> Response:
        """Return the page that asks for a yes."""
        return self.page(request, "admin_question.html", question, tab)


def _preference(request: Request) -> LanguagePreference:
    """Return the languages that a reader prefers: the one chosen by a link first."""
    chosen = request.query_params.get("lang", "")
    return preference_of(request.headers.get("accept-language", ""), chosen)
