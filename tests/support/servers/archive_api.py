"""Parts of the API of a small archive, on a real socket in this process."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException

from ibi.archive.ports.statistics import Access
from ibi.archive.rules.scopes import SCOPES
from ibi.archive.tasks import Tasks, Work
from ibi.archive.web.api.history import HistoryApi
from ibi.archive.web.api.operations import OPERATIONS
from ibi.archive.web.api.statistics import StatisticsApi
from ibi.archive.web.api.tasks import TasksApi
from ibi.errors import IbiError
from ibi.foundation.web import problems
from ibi.foundation.web.authorization import Authenticator, Authorizer
from ibi.foundation.web.operations import routes_of
from ibi.foundation.web.tokens import Tokens as BearerTokens
from tests.support.clients.http import Answer, Client
from tests.support.processes.shell import Done, Shell
from tests.support.scenes.small_archive import SmallArchive
from tests.support.servers.file_delivery import served
from tests.support.servers.program import API


class SmallService(Client):
    """Answers what is asked of tasks, history and statistics; commands can be run on it."""

    def __init__(
        self, small: SmallArchive, tasks: Tasks, tokens: BearerTokens, address: str
    ) -> None:
        """Ask it there."""
        super().__init__(address, tokens.add("first", "administer"))
        self.small = small
        self.tasks = tasks
        self.tokens = tokens

    def api(self, path: str, method: str = "GET", token: str | None = None) -> Answer:
        """Ask the API."""
        return self.ask(method, f"{API}/{path}", token=token)

    def told(self, path: str) -> dict[str, Any]:
        """Return what the API says."""
        answer = self.api(path)
        assert answer.status == 200, answer.body
        found: dict[str, Any] = answer.json()
        return found

    def call(self, *arguments: str, **more: str) -> Done:
        """Run `ibi archive` on it, in this process."""
        where = ("--archive", self.address, "--token", self.token)
        return Shell(self.small.folder).call("archive", *arguments, *where, **more)

    def said(self, *arguments: str, **more: str) -> str:
        """Return what a command that succeeds says; nothing is on stderr."""
        done = self.call(*arguments, **more)
        assert (done.returncode, done.stderr) == (0, ""), done
        return done.stdout

    def as_json(self, *arguments: str) -> Any:  # noqa: ANN401  # JSON
        """Return what a command tells programs."""
        return json.loads(self.said(*arguments, "--json"))

    def read(self, label: str, day: str, count: int) -> None:
        """Have an item be read on a day."""
        number = self.small.archive.get(label).id
        access = Access(number, day, *divmod(self.small.clock.wall(), 10**9), 2**40, count)
        assert self.small.catalogue.statistics.count_accesses([access]) == [True]


@contextmanager
def small_service(folder: Path, works: Mapping[str, Work] | None = None) -> Iterator[SmallService]:
    """Serve a small archive while the block runs, its tasks too."""
    small = SmallArchive(folder)
    tokens = BearerTokens(small.catalogue.tokens, small.clock, SCOPES)
    tasks = Tasks(small.catalogue.tasks, small.clock, works or {})

    apis = (TasksApi(tasks), HistoryApi(small.archive), StatisticsApi(small.archive))
    authorizer = Authorizer(Authenticator(tokens, small.clock))
    handlers = {
        handler for api in apis for handler in vars(type(api)).values() if callable(handler)
    }
    served_here = [each for each in OPERATIONS if each.handler in handlers]
    routes = routes_of(served_here, apis, authorizer)
    # Without a log, which would stand among what commands say.
    app = Starlette(
        routes=routes,
        exception_handlers={
            IbiError: problems.on_ibi_error,
            HTTPException: problems.on_http_error,
            Exception: problems.on_bug,
        },
    )
    tasks.start()
    try:
        with served(app) as (host, port):
            service = SmallService(small, tasks, tokens, f"http://{host}:{port}")
            yield service
            service.close()
    finally:
        tasks.stop()
        small.close()
