"""The minting service as an ASGI application."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request

from ibi.errors import IbiError
from ibi.foundation.web import openapi, problems
from ibi.foundation.web.authorization import Authenticator, Authorizer
from ibi.foundation.web.operations import routes_of
from ibi.foundation.web.status import StatusApi
from ibi.minting.web.metrics import MintingMetrics
from ibi.minting.web.operations import DESCRIPTION, OPERATIONS
from ibi.minting.web.service import MintingService
from ibi.model.clock import Clock


def minting_app(
    service: MintingService, clock: Clock, metrics: MintingMetrics, version: str
) -> Starlette:
    """Return the service as an ASGI application."""

    async def page(_: Request) -> bytes:
        return metrics.page()

    status = StatusApi(openapi.document(DESCRIPTION, OPERATIONS, version), service.check, page)
    authorizer = Authorizer(Authenticator(service.tokens, clock))
    app = Starlette(
        routes=routes_of(OPERATIONS, (service, status), authorizer),
        exception_handlers={
            IbiError: problems.on_ibi_error,
            HTTPException: problems.on_http_error,
            Exception: problems.on_bug,
        },
        lifespan=service.lifespan,
    )
    app.router.redirect_slashes = False  # /x/ is not /x
    return app
