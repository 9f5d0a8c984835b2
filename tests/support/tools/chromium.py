"""A real browser for tests: Debian's Chromium without a window, spoken to through a pipe.

The DevTools protocol by `--remote-debugging-pipe`: JSON in both directions, each message ended by
a NUL byte. No port is opened and no library is needed.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from tests.support.tools.debian import program
from tests.support.waiting import PATIENCE

_FLAGS: Final = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-dev-shm-usage", "--disable-extensions", "--disable-popup-blocking"),
    "--remote-debugging-pipe",
)
_READ, _WRITE = 3, 4
"""The descriptors at which Chromium listens and speaks."""
_IS_DOWNLOAD: Final = "net::ERR_ABORTED"
"""The error of a navigation that leads to no document. All others are faults of a test."""
DIALOG: Final = "Page.javascriptDialogOpening"
"""The event of a page that opens a dialog."""


class Chromium:
    """A running browser with one page."""

    def __init__(self, process: subprocess.Popen[bytes], to: int, of: int) -> None:
        """Speak to a process."""
        self._process = process
        self._to, self._of = to, of
        self._buffer = b""
        self._number = 0
        self.events: list[dict[str, Any]] = []
        """What it reported by itself, and nobody took yet."""

    def ask(self, method: str, session: str = "", **parameters: object) -> dict[str, Any]:
        """Send a command, and return its result."""
        self._number += 1
        message: dict[str, object] = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE
        while True:
            said = self._hear(deadline)
            assert said is not None, f"no answer to {method}"
            if said.get("id") == self._number:
                assert "error" not in said, (method, said)
                result: dict[str, Any] = said["result"]
                return result
            self.events.append(said)

    def _hear(self, deadline: float) -> dict[str, Any] | None:
        while b"\0" not in self._buffer:
            left = max(deadline - time.monotonic(), 0)
            if not select.select([self._of], [], [], left)[0]:
                return None
            chunk = os.read(self._of, 1 << 20)
            assert chunk, "the browser ended"
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\0")
        said: dict[str, Any] = json.loads(line)
        return said

    def wait_for(self, is_it: Callable[[dict[str, Any]], bool], seconds: float) -> bool:
        """Wait until it reports something; False if it does not within so many seconds."""
        deadline = time.monotonic() + seconds
        seen = 0
        while not any(is_it(event) for event in self.events[seen:]):
            seen = len(self.events)
            said = self._hear(deadline)
            if said is None:
                return False
            self.events.append(said)
        return True

    @contextmanager
    def page(self) -> Iterator[Page]:
        """Open a page."""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self.ask("Target.attachToTarget", targetId=target, flatten=True)
        page = Page(self, attached["sessionId"])
        try:
            yield page
        finally:
            self.ask("Target.closeTarget", targetId=target)

    def targets(self) -> list[dict[str, Any]]:
        """Return all pages that are open, with their titles and addresses."""
        found: list[dict[str, Any]] = self.ask("Target.getTargets")["targetInfos"]
        return [each for each in found if each["type"] in {"page", "iframe", "service_worker"}]


class Page:
    """A tab."""

    def __init__(self, browser: Chromium, session: str) -> None:
        """Have it report what happens in it."""
        self._browser = browser
        self._session = session
        self._ask("Page.enable")
        self._ask("Log.enable")

    def _ask(self, method: str, **parameters: object) -> dict[str, Any]:
        return self._browser.ask(method, self._session, **parameters)

    def open(self, url: str, seconds: float = PATIENCE) -> bool:
        """Go to an address and wait until it is shown, or shows a dialog, which it waits for.

        False if nothing is ever shown: a download, say.
        """
        self._browser.events.clear()
        answer = self._ask("Page.navigate", url=url)
        if "errorText" in answer:
            assert answer["errorText"] == _IS_DOWNLOAD, answer
            return False
        if "loaderId" in answer and not self._has_arrived(answer["loaderId"], seconds):
            return False
        is_shown, is_dialog = self._is("Page.loadEventFired"), self._is(DIALOG)
        return self._browser.wait_for(lambda event: is_shown(event) or is_dialog(event), seconds)

    def _has_arrived(self, loader: str, seconds: float) -> bool:
        """Wait until the document of a navigation is there, and forget what was reported before.

        The former document may still report that it is loaded.
        """
        is_navigated = self._is("Page.frameNavigated")

        def is_arrival(event: dict[str, Any]) -> bool:
            return is_navigated(event) and event["params"]["frame"]["loaderId"] == loader

        has_arrived = self._browser.wait_for(is_arrival, seconds)
        events = self._browser.events
        while events and not is_arrival(events[0]):
            del events[0]
        return has_arrived

    def _is(self, method: str) -> Callable[[dict[str, Any]], bool]:
        return lambda event: (
            event.get("sessionId") == self._session and event.get("method") == method
        )

    @property
    def dialogs(self) -> int:
        """How many dialogs it opened since it went where it is; all are closed."""
        is_dialog = self._is(DIALOG)
        count = sum(1 for event in self._browser.events if is_dialog(event))
        for _ in range(count):
            self._ask("Page.handleJavaScriptDialog", accept=True)
        return count

    @property
    def violations(self) -> list[str]:
        """What it said against its security policy since it went where it is."""
        self._ask("Page.enable")  # whatever was reported before the answer has arrived then
        said = filter(self._is("Log.entryAdded"), self._browser.events)
        entries = [each["params"]["entry"] for each in said]
        return [each["text"] for each in entries if each["source"] == "security"]

    def click(self) -> None:
        """Click with a real mouse, in the upper left of the page."""
        for kind in ("mousePressed", "mouseReleased"):
            self._ask(
                "Input.dispatchMouseEvent", type=kind, x=40, y=40, button="left", clickCount=1
            )

    def dom(self) -> str:
        """Return what the document became, with all documents in its frames."""
        root = self._ask("DOM.getDocument", depth=-1, pierce=True)["root"]
        return json.dumps(root)


@contextmanager
def chromium() -> Iterator[Chromium]:
    """Run a browser with an empty profile."""
    browser = program("chromium", "chromium", "These tests open pages in a real browser")
    theirs_to_read, to = os.pipe()
    of, theirs_to_write = os.pipe()

    # Through a shell, because only it can put a descriptor at a number of one's choice.
    script = f'exec "$@" {_READ}<&{theirs_to_read} {_WRITE}>&{theirs_to_write}'
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [browser, *_FLAGS, f"--user-data-dir={profile}", "about:blank"]
        process = subprocess.Popen(  # noqa: S603
            ["/bin/bash", "-c", script, "bash", *command],
            pass_fds=(theirs_to_read, theirs_to_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            os.close(theirs_to_read)
            os.close(theirs_to_write)
            yield Chromium(process, to, of)
        finally:
            os.close(to)  # it ends when nobody can speak to it any more
            os.close(of)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
