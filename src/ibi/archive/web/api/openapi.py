"""The description of an archive's API (OpenAPI 3.1), made of the types that check the requests."""

from __future__ import annotations

from typing import Any, Final

from ibi.archive.rules.amendment import Amendment
from ibi.archive.rules.deposit_request import DepositRequest
from ibi.archive.web import digest
from ibi.archive.web.api import (
    audits,
    copies,
    exports,
    history,
    holdings,
    imports,
    messages,
    statistics,
    storage,
    tasks,
    transfers,
)
from ibi.archive.web.api import messages as bag_messages
from ibi.foundation.web import openapi, tokens_api
from ibi.foundation.web.openapi import (
    IBI,
    ID,
    OFFSET,
    PAGE,
    PATH,
    in_words,
    operation,
    parameter,
    query,
    upload,
)
from ibi.foundation.web.problems import Problem

_TYPES: Final = (
    Amendment,
    DepositRequest,
    messages.ArchiveAnswer,
    messages.CompletionRequest,
    messages.DeletionRequest,
    messages.DepositAnswer,
    messages.FileAnswer,
    messages.FilesAnswer,
    messages.ItemAnswer,
    messages.ItemsAnswer,
    messages.LinkAnswer,
    messages.LinkRequestBody,
    messages.LinksAnswer,
    messages.ReservationRequest,
    messages.ReservationsAnswer,
    messages.StagedAnswer,
    tokens_api.TokenAnswer,
    tokens_api.TokenRequest,
    tokens_api.TokensAnswer,
    messages.UnpackAnswer,
    messages.UnpackRequest,
    *audits.TYPES,
    *copies.TYPES,
    *bag_messages.TYPES,
    *history.TYPES,
    *holdings.TYPES,
    *statistics.TYPES,
    *storage.TYPES,
    *tasks.TYPES,
    *transfers.TYPES,
    Problem,
)


def document(version: str) -> dict[str, Any]:
    """Return the document."""
    return openapi.document(
        "IBI archive",
        "Keeps identified items: deposits, descriptions, editions, statistics.",
        version,
        _TYPES,
        _paths(),
    )


def _paths() -> dict[str, Any]:
    return {
        **_items(),
        **_deposits(),
        **_administration(),
        **audits.described(),
        **copies.described(),
        **digest.described(),
        **exports.described(),
        **imports.described(),
        **history.described(),
        **holdings.described(),
        **statistics.described(),
        **storage.described(),
        **tasks.described(),
        **transfers.described(),
        **_health(),
    }


def _items() -> dict[str, Any]:
    item = "/api/v1/items/{ibi}"
    found = (404,)
    return {
        "/api/v1/items": {
            "get": operation(
                "List items, in the order in which they came",
                answer="ItemsAnswer",
                parameters=[*PAGE, query("kind", "data, metadata or service")],
            )
        },
        item: {
            "parameters": [IBI],
            "get": operation("What is known of an item", answer="ItemAnswer", errors=found),
            "patch": operation(
                "Change what is said of an item, and how it relates to others",
                body="Amendment",
                answer="ItemAnswer",
                errors=(404, 409, 410, 413, 507),
            ),
        },
        f"{item}/files": {
            "parameters": [IBI],
            "get": operation(
                "The files of an item", answer="FilesAnswer", parameters=PAGE, errors=found
            ),
        },
        f"{item}/metadata": {
            "parameters": [IBI],
            "get": operation(
                "The metadata of an item, as JSON or in a format",
                answer="",
                parameters=[query("format", "oai_dc; as JSON if left out")],
                errors=(404, 406),
            ),
            "put": operation(
                "Replace the metadata of an item, by JSON or oai_dc",
                body="",
                answer="ItemAnswer",
                errors=(404, 409, 410, 413, 507),
            ),
        },
        f"{item}/deletion": {
            "parameters": [IBI],
            "post": operation(
                "Delete an item; its tombstone stays",
                body="DeletionRequest",
                answer="ItemAnswer",
                errors=(404, 409, 410, 413, 507),
            ),
        },
    }


def _deposits() -> dict[str, Any]:
    deposit = "/api/v1/deposits/{id}"
    return {
        "/api/v1/deposits": {
            "post": operation(
                "Begin a deposit",
                body="DepositRequest",
                answer="DepositAnswer",
                status=201,
                errors=(404, 409, 410, 413, 507),
            )
        },
        deposit: {
            "parameters": [ID],
            "get": operation("What has come", answer="DepositAnswer", errors=(404,)),
            "delete": operation("Give a deposit up", status=204, errors=(404, 409)),
        },
        f"{deposit}/files/{{path}}": {
            "parameters": [ID, PATH],
            "get": operation(
                "How much of a file has come", answer="StagedAnswer", errors=(404, 409)
            ),
            "put": upload("Send a file, or its beginning"),
            "patch": upload("Send the rest of a file, from Upload-Offset on", OFFSET),
            "delete": operation("Take a file out again", status=204, errors=(404, 409)),
        },
        f"{deposit}/unpacking": {
            "parameters": [ID],
            "post": operation(
                "Put what is in a zip or tar file in its place",
                body="UnpackRequest",
                answer="UnpackAnswer",
                errors=(404, 409, 413, 507),
            ),
        },
        f"{deposit}/completion": {
            "parameters": [ID],
            "post": operation(
                "Make the item, whole and described; the same one if it was made before",
                body="CompletionRequest",
                answer="ItemAnswer",
                errors=(404, 409, 410, 413, 507),
                body_needed=False,
            ),
        },
    }


def _administration() -> dict[str, Any]:
    return {
        "/api/v1/archive": {"get": operation("The archive", answer="ArchiveAnswer", public=True)},
        "/api/v1/reservations": {
            "get": operation(
                "Labels that wait for their item", answer="ReservationsAnswer", parameters=PAGE
            ),
            "post": operation(
                "Reserve labels",
                body="ReservationRequest",
                answer="ReservationsAnswer",
                status=201,
                errors=(413, 507),
                body_needed=False,
            ),
        },
        "/api/v1/resolvers": {
            "get": operation("How the archive stands with resolvers", answer="LinksAnswer"),
            "post": operation(
                "Link the archive to a resolver",
                body="LinkRequestBody",
                answer="LinkAnswer",
                status=201,
                errors=(413, 507),
            ),
        },
        "/api/v1/resolvers/{resolver}": {
            "parameters": [parameter("resolver", "The address of a resolver")],
            "delete": operation("Leave a resolver", status=204, errors=(404, 507)),
        },
        **tokens_api.described(),
    }


def _health() -> dict[str, Any]:
    return {
        path: {"get": in_words(summary)}
        for path, summary in (
            ("/healthz", "Whether the process lives"),
            ("/readyz", "Whether the archive can be read"),
            ("/metrics", "Metrics for Prometheus"),
        )
    }
