"""The description of a resolver's API (OpenAPI 3.1), made of the types that check the requests."""

from __future__ import annotations

from typing import Any, Final

from ibi.foundation.web import openapi, tokens_api
from ibi.foundation.web.openapi import PAGE, in_words, operation, parameter, query
from ibi.foundation.web.problems import Problem
from ibi.resolver.web import messages
from ibi.resolver.web.explanation import Explanation
from ibi.resolver.web.public_routes import Resolved

_TYPES: Final = (
    Explanation,
    messages.ArchiveAnswer,
    messages.ArchivesAnswer,
    messages.ChallengeAnswer,
    messages.ConflictAnswer,
    messages.ConflictsAnswer,
    messages.HistoryAnswer,
    messages.HostsRequest,
    messages.KeyAnswer,
    messages.NoticeAnswer,
    messages.OpenRegistrationRequest,
    messages.RegistrationRequest,
    messages.ProofRequest,
    messages.ResolverAnswer,
    messages.SettlementRequest,
    tokens_api.TokenAnswer,
    tokens_api.TokenRequest,
    tokens_api.TokensAnswer,
    Problem,
    Resolved,
)

_SERVICE: Final = parameter(
    "service", "The label of an archive service; its slashes may stand as they are"
)


def document(version: str) -> dict[str, Any]:
    """Return the document."""
    return openapi.document(
        "IBI resolver",
        "Leads from persistent URLs to where the items are, and keeps the archives on record.",
        version,
        _TYPES,
        {
            **_resolution(),
            **_archives(),
            **_registrations(),
            **_conflicts(),
            **tokens_api.described(),
            **_health(),
        },
    )


def _resolution() -> dict[str, Any]:
    parameters = [
        {**query("url", "A label, or a persistent URL"), "required": True},
        query("language", "The language that is preferred: pt, or pt-BR"),
    ]
    return {
        "/api/v1/resolve": {
            "get": operation(
                "Where a persistent URL leads; no access is counted",
                answer="Resolved",
                errors=(400, 404, 406, 409, 410, 429, 508),
                parameters=parameters,
                public=True,
            )
        },
        "/api/v1/explain": {
            "get": operation(
                "Who was asked, what each said, the hops and the choice",
                answer="Explanation",
                errors=(400, 429),
                parameters=parameters,
                public=True,
            )
        },
    }


def _archives() -> dict[str, Any]:
    archive = "/api/v1/archives/{service}"
    return {
        "/api/v1/resolver": {
            "get": operation("What this resolver is", answer="ResolverAnswer", public=True)
        },
        "/api/v1/archives": {
            "get": operation(
                "The archives on record; who sends a token is told more",
                answer="ArchivesAnswer",
                errors=(401, 429),
                public=True,
            ),
            "post": operation(
                "Register an archive, and show its key once",
                body="RegistrationRequest",
                answer="KeyAnswer",
                status=201,
                errors=(413, 507),
            ),
        },
        f"{archive}/confirm": _act("Make a pending registration good", "NoticeAnswer"),
        f"{archive}/rotate": _act("Issue another key, and show it once", "KeyAnswer"),
        f"{archive}/revoke": _act("Take the key from an archive", "ArchiveAnswer"),
        f"{archive}/exclude": _act(
            "Switch an archive off, until it announces itself again", "ArchiveAnswer"
        ),
        f"{archive}/hosts": {
            "parameters": [_SERVICE],
            "put": operation(
                "Set the further hosts that its URLs may be on",
                body="HostsRequest",
                answer="ArchiveAnswer",
                errors=(404, 413, 507),
            ),
        },
        archive: {
            "parameters": [_SERVICE],
            "delete": operation("Forget an archive", status=204, errors=(404, 507)),
        },
    }


def _act(summary: str, answer: str) -> dict[str, Any]:
    return {
        "parameters": [_SERVICE],
        "post": operation(summary, answer=answer, errors=(404, 507)),
    }


def _registrations() -> dict[str, Any]:
    take_mail = operation(
        "Take an e-mail that registers an archive; it is pending until it is confirmed",
        answer="NoticeAnswer",
        status=202,
        errors=(413, 507),
    )
    # As it came: the type of the body is not looked at.
    types = ("message/rfc822", "application/octet-stream")
    take_mail["requestBody"] = {
        "required": True,
        "content": {media_type: {"schema": {}} for media_type in types},
    }
    return {
        "/api/v1/registrations": {
            "post": operation(
                "Ask to register an archive whose host one controls",
                body="OpenRegistrationRequest",
                answer="ChallengeAnswer",
                status=202,
                errors=(400, 403, 413, 429, 507),
                public=True,
            )
        },
        "/api/v1/registrations/mail": {"post": take_mail},
        "/api/v1/registrations/proof": {
            "post": operation(
                "Have the proof looked at; the key is shown once",
                body="ProofRequest",
                answer="KeyAnswer",
                status=201,
                errors=(400, 403, 404, 413, 422, 429, 507),
                public=True,
            ),
        },
    }


def _conflicts() -> dict[str, Any]:
    return {
        "/api/v1/conflicts": {
            "get": operation(
                "Rival claims to one Original",
                answer="ConflictsAnswer",
                parameters=[
                    *PAGE,
                    query("all", "Those that are settled, too", {"type": "boolean"}),
                ],
            )
        },
        "/api/v1/conflicts/{conflict}/settlement": {
            "parameters": [parameter("conflict", "Its number, or the label of the item")],
            "post": operation(
                "Say whose the Original is",
                body="SettlementRequest",
                answer="ConflictAnswer",
                errors=(404, 413, 507),
            ),
        },
        "/api/v1/history": {
            "get": operation(
                "Who did what, the oldest first", answer="HistoryAnswer", parameters=PAGE
            )
        },
    }


def _health() -> dict[str, Any]:
    return {
        path: {"get": in_words(summary)}
        for path, summary in (
            ("/healthz", "Whether the process lives"),
            ("/readyz", "Whether the resolver can resolve"),
            ("/metrics", "Metrics for Prometheus"),
        )
    }
