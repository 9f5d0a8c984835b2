"""ARCHIVE DISK: a disk that fails or is full under a running archive.

Deposits are refused (507, 503), reading works. Nothing that was acknowledged is lost, a refused
operation is done whole or not at all, and when the disk works again, so does the same process.
"""

from __future__ import annotations

import sys
from pathlib import Path
from threading import Timer
from typing import Final
from urllib.parse import quote, urlencode

from ibi.wire import pairlist
from tests.faults.archive.disk_checks import check_reading
from tests.faults.archive.failpoint import BROKEN, NO_SPACE
from tests.faults.archive.operations import Operation, Refused, expect
from tests.faults.archive.process_kills import LIFE, Campaign
from tests.faults.archive.server_process import SERVER_GONE
from tests.faults.archive.session import Session
from tests.faults.archive.twins import UNHEALED
from tests.faults.figures import Figures, Violation
from tests.faults.full_disk import fill_up, main_on_small_disk, run_on_small_disk
from tests.faults.sites import PostgresSite, ReportProgress, Site, SqliteSite
from tests.support.clients.http import PROBLEM, Answer

_MEGABYTES: Final = 96
"""Size of the disk that is filled."""
_FULL, _FAILED = 507, 503
_OFFERED: Final = ("contenttype", "ibi", "state", "url", "urlkey")
"""Fields of an answer that a resolver repeats in its acknowledgment."""


class DiskFailureSession(Session):
    """A session on a disk that fails."""

    def attempt_refusable(self, operation: Operation) -> bool:
        """Perform an operation that may be refused; tell whether it was."""
        self.interrupted = operation
        try:
            operation.prepare(self.archive)
            answer = expect(operation.finish(self.archive), 200, 201)
        except Refused as refused:
            self._check_refusal(refused.answer)
            return True
        except SERVER_GONE as failure:
            raise Violation(f"{operation.kind}: the archive is gone: {failure}") from failure
        self._acknowledge(operation, answer)
        self.interrupted = None
        return False

    def _check_refusal(self, answer: Answer) -> None:
        """Check that a refusal is a clear problem document."""
        if answer.status not in {_FULL, _FAILED} or answer.headers["content-type"] != PROBLEM:
            raise Violation(f"an unclear refusal: {answer.status} {answer.body[:500]!r}")
        problem = answer.json()
        if not problem.get("detail") or problem["status"] != answer.status:
            raise Violation(f"an unclear refusal: {problem}")
        self.counts[f"{answer.status}"] += 1

    def check_readers(self) -> None:
        """Check that readers and resolvers are served in spite of the disk."""
        perform = [label for label in self.state.originals() if label != self._touched]
        labels = self.rng.sample(perform, min(2, len(perform)))
        check_reading(self.archive, self.state, labels, self.rng)
        for label in labels:
            client = {"clientinformation.ipaddress": "192.0.2.1"}
            status, asked = self._ask("urlRequest", **client, **{"parsedibiurl.ibi": label})
            if status != 200 or label not in asked.get("ibi", ""):
                raise Violation(f"a resolver is answered {status} {asked}")
            offered = {name: asked[name] for name in _OFFERED}
            offered["url.persistent"] = f"{self.archive.address}/{label}"
            status, answer = self._ask("acknowledgment", **client, **offered)
            refused = answer.get("status.error") == "storage"
            if (status, refused) not in {(200, False), (_FAILED, True)}:
                raise Violation(f"an acknowledgment is answered {status} {answer}")
            self.counts[f"{status} to a resolver"] += 1

    def _ask(self, subject: str, **pairs: str) -> tuple[int, dict[str, str]]:
        """Send a request of a resolver; the answer must be a pair list."""
        query = urlencode({"servicesubject": subject, **pairs}, quote_via=quote, safe="")
        answer = self.archive.get(f"/{self.archive.service}?{query}")
        if answer.headers["content-type"] != "text/plain":
            raise Violation(f"a resolver is answered {answer.status} {answer.body[:300]!r}")
        return answer.status, dict(pairlist.decode(answer.body))

    @property
    def _touched(self) -> str:
        return self.interrupted.label if self.interrupted is not None else ""

    def recover(self) -> None:
        """Recover by the next operation, or by a restart, and check."""
        if self.rng.random() < 0.8:
            self.perform(self.operations.operation("deposit", self.state))
        else:
            self.archive.end()
            self.archive.revive()
        self.judge()


def fail_disk(
    site: Site, size: int, seed: int, report_progress: ReportProgress, twin: str = ""
) -> Figures:
    """Fail with ENOSPC or EIO at a step of an operation, once or until the disk is mended."""
    campaign = Campaign(site, seed, twin, DiskFailureSession)
    failures = 0
    while failures < size:
        with campaign.session() as session:
            assert isinstance(session, DiskFailureSession)
            for _ in range(min(LIFE, size - failures)):
                _fail_operation(session)
                failures += 1
                report_progress(
                    f"{failures} of {size} failures, {campaign.counts['acknowledged']} acknowledged"
                )
    figures = campaign.report()
    figures.notes = f"{size} failures: ENOSPC and EIO at a random step; {figures.notes}"
    return figures


def _fail_operation(session: DiskFailureSession) -> None:
    rng, failpoint = session.rng, session.archive.failpoint
    operation = session.operations.any(session.state)
    lasting = rng.random() < 0.5
    failpoint.set(rng.randint(1, 100), rng.choice([NO_SPACE, BROKEN]), lasting=lasting)
    session.attempt_refusable(operation)
    if lasting:
        session.check_readers()
    failpoint.disable()
    session.recover()


def fail_unhealed(site: Site, size: int, seed: int, report_progress: ReportProgress) -> Figures:
    """The twin that ignores its journal after a failure."""
    try:
        return fail_disk(site, size, seed, report_progress, UNHEALED)
    except Violation as caught:
        return Figures(labels=1, found=caught.brief)


def lose_server(site: Site, size: int, seed: int, report_progress: ReportProgress) -> Figures:
    """Kill the PostgreSQL server during an operation, and restart it."""
    assert isinstance(site, PostgresSite)
    campaign = Campaign(site, seed, "", DiskFailureSession)
    with campaign.session() as session:
        assert isinstance(session, DiskFailureSession)
        for number in range(1, size + 1):
            site.close()  # the checks use the server too
            timer = Timer(session.rng.uniform(0, 0.08), site.server.kill)
            timer.start()
            try:
                while not session.attempt_refusable(session.operations.any(session.state)):
                    pass
            finally:
                timer.join()
                site.server.start()  # other tests need it too
            session.recover()
            report_progress(f"{number} of {size} kills of the server")
    figures = campaign.report()
    figures.notes = f"{size} kills of the server; {figures.notes}"
    return figures


def fill_disk(site: Site, size: int, seed: int, report_progress: ReportProgress) -> Figures:
    """Fill a real file system."""
    figures = run_on_small_disk("tests.faults.archive.disk_failures", site, size, seed)
    if not figures.skipped:
        report_progress(f"{size} of {size} times full, {figures.labels:,} labels")
        figures.notes = f"{size} times full: a real tmpfs of {_MEGABYTES} MB; {figures.notes}"
    return figures


def _fill(folder: Path, size: int, seed: int) -> Figures:
    """Fill and empty the disk under a running archive."""
    campaign = Campaign(SqliteSite(folder), seed, "", DiskFailureSession)
    ballast = folder / "ballast"
    with campaign.session() as session:
        assert isinstance(session, DiskFailureSession)
        for _ in range(size):
            fill_up(ballast, session.rng.choice([0, 20_000, 200_000]))
            while not session.attempt_refusable(session.operations.any(session.state)):
                fill_up(ballast)
            session.check_readers()
            ballast.unlink()
            session.recover()
    return campaign.report()


if __name__ == "__main__":
    sys.exit(main_on_small_disk(_MEGABYTES, _fill))
