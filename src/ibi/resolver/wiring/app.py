"""Builds and opens a running resolver."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ibi.foundation.system.clock import SystemClock
from ibi.resolver.settings import ResolverSettings

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from ibi.foundation.web.bounded_http import BoundedHttp
    from ibi.resolver.storage.store import SqlResolverStore


class ResolverInstance:
    """The open database of a resolver, and everything to close when it stops."""

    def __init__(self, settings: ResolverSettings, workers: int = 1) -> None:
        """Open the database; one of several workers admits its share of a client's rate."""
        self.is_one_of_several = workers > 1
        self.settings = replace(
            settings,
            messages_a_second=max(1, settings.messages_a_second // workers),
            requests_a_second=max(1, settings.requests_a_second // workers),
        )
        self.clock = SystemClock()
        self.store = open_resolver_store(settings)

    def close(self) -> None:
        """Close the database."""
        self.store.close()


def resolver_app(instance: ResolverInstance) -> tuple[Starlette, type[BoundedHttp]]:
    """Return a resolver's application, and the protocol that answers cached redirects before it."""
    from ibi.resolver.web.fast_redirects import fast_redirect_http
    from ibi.resolver.wiring import builders, web

    base = builders.build_base(instance.settings, instance.store, instance.clock)
    workers = builders.build_workers(base)
    digests = builders.build_digests(base, workers.leases)
    searches = builders.build_searches(base, digests)
    services = builders.build_background(base, workers, digests, searches)

    access = web.build_access(base, is_one_of_several=instance.is_one_of_several)
    fast = web.build_fast_redirects(base, workers, digests)
    endpoints = web.build_endpoints(base, workers, digests, searches, fast)
    metrics = web.build_metrics(services, base, fast)
    figures = web.build_figures(base, endpoints, services, metrics, fast)
    app = web.build_app(base, access, endpoints, services, metrics, figures)
    return app.asgi(), fast_redirect_http(fast)


def open_resolver_store(settings: ResolverSettings) -> SqlResolverStore:
    """Open the database of a resolver, migrated to the newest version."""
    from ibi.resolver.storage.store import SqlResolverStore

    return SqlResolverStore.open(settings.place)
