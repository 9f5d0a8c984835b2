"""A resolver with a million cached redirects: `ibi resolver serve` with a filled cache.

To resolve each label over HTTP takes a quarter of an hour, nearly all of it for requests to the
archive. So the first two labels are resolved over HTTP, and the second redirect is repeated for
each label of a file by the code that stores a redirect that was found: in the redirect cache, under
the lease of its archive, and in the table of fast redirects, from the response that would be sent.
Started as `python -m bench.resolver.preloaded_resolver LABELS resolver serve ...`.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from pathlib import Path

from starlette.requests import Request

from ibi.cli import main
from ibi.identifier.label import parse
from ibi.identifier.persistent_url import PersistentUrl
from ibi.resolver.rules.decision import Redirect
from ibi.resolver.rules.redirect_entry import CachedRedirect
from ibi.resolver.rules.resolution import Resolution
from ibi.resolver.web import redirect
from ibi.wire.question import Question

SLICE = 200
"""Redirects that are stored before other tasks of the event loop run."""


class PreloadedRedirects(redirect.RedirectEndpoint):
    """Stores a redirect for each label of a file, as soon as two labels were resolved."""

    found = 0
    labels = Path("labels")
    _preloading: asyncio.Task[None] | None = None

    async def _resolve(
        self, request: Request, question: Question, *, ask_all: bool = False
    ) -> Resolution:
        resolution = await super()._resolve(request, question, ask_all=ask_all)
        self.found += 1
        if self.found == 2:  # noqa: PLR2004  # the first one makes the archive known
            self._preloading = asyncio.create_task(self._preload(resolution))
        return resolution

    async def _preload(self, pattern: Resolution) -> None:
        loop = asyncio.get_running_loop()
        for number, text in enumerate(self.labels.read_text(encoding="ascii").split()):
            now = loop.time()
            resolution = _alike(pattern, text, now)
            known = self._memory.keep(resolution, self._base, self._memory.version, now)
            assert isinstance(known, CachedRedirect)  # noqa: S101  # it is a redirection
            response = self._redirection(known, PersistentUrl.parse(text))
            self._warm.keep(f"/{text}".encode(), response.raw_headers, known, b"")
            if number % SLICE == 0:
                await asyncio.sleep(0)


def _alike(pattern: Resolution, text: str, began: float) -> Resolution:
    """Return the same resolution of another label."""
    outcome, before = pattern.outcome, pattern.question.label.spelling
    assert isinstance(outcome, Redirect)  # noqa: S101  # the archive has everything
    related = outcome.served.related
    related = replace(related, url=related.url.replace(before, text))
    outcome = replace(outcome, served=replace(outcome.served, related=related))
    question = replace(pattern.question, label=parse(text))
    step = replace(pattern.last, question=question, decision=outcome, began=began)
    return Resolution(question, (step,), outcome)


if __name__ == "__main__":
    PreloadedRedirects.labels = Path(sys.argv.pop(1))
    redirect.RedirectEndpoint = PreloadedRedirects  # type: ignore[misc]  # before the resolver is built
    main()
