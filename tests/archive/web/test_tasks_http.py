"""Long work over HTTP, and from the command line: shown, followed, given up."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from ibi.archive.cli.tasks import follow
from ibi.archive.tasks import TaskProgress, Work
from ibi.client.archive import RemoteArchive
from ibi.errors import ArchiveRefusedError, ArchiveRequestError
from tests.support.clients.http import PROBLEM
from tests.support.processes.shell import refusal
from tests.support.servers.archive_api import SmallService, small_service
from tests.support.waiting import PATIENCE, wait_until


class Slow:
    """Work that ends when the test lets it."""

    def __init__(self) -> None:
        """Be at nothing."""
        self.began = threading.Semaphore(0)
        self.let = threading.Semaphore(0)

    def __call__(self, progress: TaskProgress) -> None:
        """Do the half, wait, and do the rest."""
        progress.report(done=1, total=2, note="at\x1b[31m it", result={"seen": 1})
        progress.keep()
        self.began.release()
        assert self.let.acquire(timeout=PATIENCE)
        progress.report(done=2, note="")

    def wait(self) -> None:
        """Wait until it is at the half."""
        assert self.began.acquire(timeout=PATIENCE)


def refuse(_: TaskProgress) -> None:
    raise ArchiveRequestError("It cannot be.")


def nothing(progress: TaskProgress) -> None:
    progress.report(done=5, result={"found": 5})


@pytest.fixture(scope="module")
def slow() -> Slow:
    return Slow()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, slow: Slow) -> Iterator[SmallService]:
    works: dict[str, Work] = {"slow": slow, "refuse": refuse, "nothing": nothing}
    with small_service(tmp_path_factory.mktemp("tasks"), works) as started:
        yield started


def ended(service: SmallService, kind: str) -> str:
    """Do a task, and return its id."""
    task = service.tasks.begin(kind, {}, "me")
    wait_until(lambda: service.tasks.get(task.id).state.has_ended)
    return task.id


def test_a_task_is_shown_while_it_runs_and_when_it_is_done(
    service: SmallService, slow: Slow
) -> None:
    task = service.tasks.begin("slow", {"item": "x"}, "somebody")
    slow.wait()
    shown = service.told(f"tasks/{task.id}")
    assert shown.pop("begun").startswith("20")
    assert shown == {
        "id": task.id,
        "kind": "slow",
        "who": "somebody",
        "state": "running",
        "done": 1,
        "total": 2,
        "note": "at\x1b[31m it",
        "result": {"seen": 1},
    }
    slow.let.release()
    wait_until(lambda: service.told(f"tasks/{task.id}")["state"] == "done")
    done = service.told(f"tasks/{task.id}")
    assert (done["done"], done["total"]) == (2, 2)
    assert done["ended"] > done["begun"]
    assert "note" not in done


def test_tasks_are_listed_the_newest_first(service: SmallService) -> None:
    made = [ended(service, kind) for kind in ("nothing", "refuse", "nothing")]
    newest = service.told("tasks?limit=3")["tasks"]
    assert [each["id"] for each in newest] == made[::-1]
    assert [each["state"] for each in newest] == ["done", "failed", "done"]
    refused = service.told("tasks?kind=refuse&limit=1")["tasks"]
    assert [(each["id"], each["note"]) for each in refused] == [(made[1], "It cannot be.")]
    for unknown in ("unknown", "%00", "a%00b"):
        assert service.told(f"tasks?kind={unknown}")["tasks"] == []
    for wrong in ("limit=0", "limit=1001", "limit=x", "limit=-1"):
        assert service.api(f"tasks?{wrong}").status == 400


def test_a_task_is_given_up(service: SmallService, slow: Slow) -> None:
    task = service.tasks.begin("slow", {}, "me")
    slow.wait()
    answer = service.api(f"tasks/{task.id}", "DELETE")
    assert answer.status == 202
    assert answer.json()["state"] == "cancelled"
    again = service.api(f"tasks/{task.id}", "DELETE")
    assert (again.status, again.headers["content-type"]) == (409, PROBLEM)
    slow.let.release()
    wait_until(lambda: service.told(f"tasks/{task.id}")["done"] == 2)
    assert service.told(f"tasks/{task.id}")["state"] == "cancelled"


def test_what_is_no_task_is_told(service: SmallService) -> None:
    for id_ in ("nothing", "%00", "x%20y", "0" * 5000):
        for method in ("GET", "DELETE"):
            answer = service.api(f"tasks/{id_}", method)
            assert (answer.status, answer.headers["content-type"]) == (404, PROBLEM)
    for method in ("POST", "PUT", "PATCH"):
        assert service.api("tasks", method).status == 405


def test_who_may_read_may_not_give_up(service: SmallService) -> None:
    id_ = ended(service, "nothing")
    for scope in ("read", "deposit"):
        token = service.tokens.add(scope, scope)
        assert service.api("tasks", token=token).status == 200
        assert service.api(f"tasks/{id_}", token=token).status == 200
        assert service.api(f"tasks/{id_}", "DELETE", token=token).status == 403
    for path, method in (("tasks", "GET"), (f"tasks/{id_}", "GET"), (f"tasks/{id_}", "DELETE")):
        assert service.api(path, method, token="").status == 401


# --- from the command line ------------------------------------------------------------------------


def test_tasks_are_shown_and_given_up_from_the_command_line(
    service: SmallService, slow: Slow
) -> None:
    failed, done = ended(service, "refuse"), ended(service, "nothing")
    task = service.tasks.begin("slow", {}, "me")
    slow.wait()
    lines = service.said("tasks", "--last", "3").splitlines()
    facts = [line.split(None, 4) for line in lines]
    assert [each[:4] for each in facts] == [
        [task.id, "slow", "running", "1/2"],
        [done, "nothing", "done", "5"],
        [failed, "refuse", "failed", "0"],
    ]
    assert lines[0].endswith("at\\x1b[31m it")
    assert lines[2].endswith("It cannot be.")
    [told] = [service.as_json("tasks", "--kind", "refuse", "--last", "1")]
    assert (told["id"], told["note"]) == (failed, "It cannot be.")
    assert service.said("tasks", "--kind", "unknown") == ""
    assert service.said("tasks", "--cancel", task.id) == f"cancelled {task.id}\n"
    slow.let.release()
    wait_until(lambda: service.tasks.get(task.id).state == "cancelled")
    assert "ended already: cancelled" in refusal(service.call("tasks", "--cancel", task.id))
    assert "nothing" in refusal(service.call("tasks", "--cancel", "nothing"))
    refusal(service.call("tasks", "--last", "0"))


def test_a_task_is_followed_until_it_ends(service: SmallService, slow: Slow) -> None:
    remote = RemoteArchive(service.address, service.token)
    done = follow(remote, service.told(f"tasks/{ended(service, 'nothing')}"), "nothing")
    assert done["result"] == {"found": 5}
    task = service.tasks.begin("slow", {}, "me")
    slow.wait()
    begun = service.told(f"tasks/{task.id}")
    slow.let.release()
    assert follow(remote, begun, "slow")["state"] == "done"


def test_who_follows_a_task_is_told_why_it_failed(service: SmallService, slow: Slow) -> None:
    remote = RemoteArchive(service.address, service.token)
    failed = service.told(f"tasks/{ended(service, 'refuse')}")
    with pytest.raises(ArchiveRefusedError, match="It cannot be"):
        follow(remote, failed, "refuse")
    task = service.tasks.begin("slow", {}, "me")
    slow.wait()
    begun = service.told(f"tasks/{task.id}")
    service.tasks.cancel(task.id)
    with pytest.raises(ArchiveRefusedError, match="was cancelled"):
        follow(remote, begun, "slow")
    slow.let.release()
