"""The page on which archives are registered by proof; operators register them at /admin.

The form itself contains the authorization: the token of a challenge, which only the client that
began has. No cookie is read, so a browser adds nothing to a form that another site makes it send,
and there is no forgery to guard against. Such a form is refused all the same: it would use up the
rate limit of the reader's network.

The header Origin does not distinguish them: where no referrer is sent, it is "null" for our own
form too.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qsl, urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.errors import (
    IbiError,
    ProofError,
    RequestError,
    Sentence,
    StorageError,
    TooManyRequestsError,
)
from ibi.foundation.pages.links import LANGUAGE, REGISTER
from ibi.foundation.pages.response import page_response
from ibi.foundation.pages.templates import Page, ProblemView
from ibi.foundation.translation.language import preference_of
from ibi.foundation.web.authorization import Authorizer
from ibi.foundation.web.problems import problem_of
from ibi.foundation.web.request_body import body_of
from ibi.foundation.web.routing import PathRoute
from ibi.identifier.label import Label
from ibi.identifier.language_preference import LanguagePreference
from ibi.model.archive_record import RegistrationKey
from ibi.model.registration import RegisteredArchive
from ibi.resolver.ports.store import Challenge
from ibi.resolver.web.authorization import OPEN_REGISTRATION
from ibi.resolver.web.pages import ResolverPages
from ibi.resolver.web.registrations_api import OpenRegistration
from ibi.resolver.web.views import ChallengeView, FilledForm, KeyView, RegisterView

PROOF: Final = f"{REGISTER}/proof"
LARGEST_FORM: Final = 16_384
"""Bytes of a form: enough for the further hosts of one archive."""
_MAX_FIELDS: Final = 16
_FORM: Final = "application/x-www-form-urlencoded"

_HEADERS: Final = {"Referrer-Policy": "no-referrer", "Cache-Control": "no-store"}


class RegisterPage:
    """Handlers of the registration page."""

    def __init__(  # its parts
        self,
        opening: OpenRegistration,
        authorizer: Authorizer,
        pages: ResolverPages,
        address: str,
        service: Label,
    ) -> None:
        """Register at the resolver at an address, whose service has a label."""
        self._opening = opening
        self._authorizer = authorizer
        self._pages = pages
        self._address = address
        self._service = service

    @property
    def routes(self) -> list[Route]:
        """Return the routes of the page."""
        return [
            PathRoute(REGISTER, {"GET": self.show, "POST": self.register}),
            PathRoute(PROOF, {"POST": self.prove}),
        ]

    async def show(self, request: Request) -> Response:
        """Show the form."""
        return self._forms(request, FilledForm())

    async def register(self, request: Request) -> Response:
        """Begin a challenge for the archive of the form."""
        filled = FilledForm.of(await _fields_of(request))
        try:
            return await self._begin(request, filled)
        except IbiError as error:
            return self._forms(request, filled, error)

    async def _begin(self, request: Request, filled: FilledForm) -> Response:
        await self._authorizer.authorize(request, OPEN_REGISTRATION)
        challenge = await self._opening.begin(filled.service, filled.administrator)
        return self._challenge(request, challenge.token, challenge)

    async def prove(self, request: Request) -> Response:
        """Check the proof, and register the archive."""
        token = (await _fields_of(request)).get("token", "")
        challenge = None
        try:
            await self._authorizer.authorize(request, OPEN_REGISTRATION)
            challenge = await self._opening.find(token)
            return self._key(request, *await self._opening.complete(token))
        except (ProofError, TooManyRequestsError, StorageError) as error:
            return self._challenge(request, token, challenge, error)
        except IbiError as error:
            return self._forms(request, FilledForm(), error)

    def _forms(
        self, request: Request, filled: FilledForm, error: IbiError | None = None
    ) -> Response:
        fault, status, headers = _problem_parts(error, HTTPStatus.OK)
        view = RegisterView(is_open=self._opening.is_open, filled=filled, fault=fault)
        page = self._pages.register(view, _preference(request), _here(request))
        return _response(page, status, headers)

    def _challenge(
        self,
        request: Request,
        token: str,
        challenge: Challenge | None,
        error: IbiError | None = None,
    ) -> Response:
        fault, status, headers = _problem_parts(error, HTTPStatus.ACCEPTED)
        view = ChallengeView(token=token, challenge=challenge, fault=fault)
        page = self._pages.challenge(view, _preference(request), _here(request))
        return _response(page, status, headers)

    def _key(self, request: Request, archive: RegisteredArchive, key: RegistrationKey) -> Response:
        view = KeyView(
            archive=archive, key=key, resolver=self._address, resolver_service=self._service
        )
        page = self._pages.key(view, _preference(request), _here(request))
        return _response(page, HTTPStatus.CREATED, {})


async def _fields_of(request: Request) -> dict[str, str]:
    """Return the fields of a form that was sent from this page."""
    if request.headers.get("sec-fetch-site") == "cross-site":
        msg = Sentence("Another site had this form sent: open the page here, and fill it in.")
        raise HTTPException(HTTPStatus.FORBIDDEN, msg)
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        raise HTTPException(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE, Sentence("Expected %(form)s.", form=_FORM)
        )
    text = (await body_of(request, LARGEST_FORM)).decode("utf-8", "replace")
    try:
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=_MAX_FIELDS))
    except ValueError:
        msg = Sentence("The form has more than %(fields)s fields.", fields=_MAX_FIELDS)
        raise RequestError(msg) from None


def _problem_parts(
    error: IbiError | None, good: HTTPStatus
) -> tuple[ProblemView | None, int, Mapping[str, str]]:
    """Return the problem of a page, its status and its headers."""
    if error is None:
        return None, good, {}
    problem, headers = problem_of(error)
    fault = ProblemView.of(problem)
    return fault, problem.status, headers


def _preference(request: Request) -> LanguagePreference:
    chosen = request.query_params.get(LANGUAGE, "")
    return preference_of(request.headers.get("accept-language", ""), chosen)


def _here(request: Request) -> str:
    """Return the path of the forms in the chosen language, without other pairs."""
    chosen = request.query_params.get(LANGUAGE)
    return f"{REGISTER}?{urlencode({LANGUAGE: chosen})}" if chosen else REGISTER


def _response(page: Page, status: int, headers: Mapping[str, str]) -> Response:
    return page_response(page, status, {**_HEADERS, **headers})
