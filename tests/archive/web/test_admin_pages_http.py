"""The pages of administrators of an archive: what each role sees, and acts with a yes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.clients.browser import Browser
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.postgres import database_options
from tests.support.waiting import wait_until

CURATED = ("", "/figures", "/figures?span=day", "/tasks", "/files", "/resolvers", "/audit-log")
ADMINISTERED = ("/minting", "/identity", "/resolvers/remove?resolver=http://x.example.org")
NOWHERE = "http://127.0.0.1:9"


@dataclass
class Scene:
    """An archive, and a person of each role."""

    archive: ArchiveServer
    people: dict[str, Browser]
    label: str

    @property
    def administrator(self) -> Browser:
        """The administrator."""
        return self.people["administrator"]

    def page(self, path: str, role: str = "administrator") -> str:
        """Return a page below /admin, with labels as they are copied."""
        answer = self.people[role].get(f"/admin{path}", Accept="text/html")
        assert answer.status == 200, answer.body
        return re.sub("<wbr>", "", answer.body.decode())

    def history(self) -> list[dict[str, Any]]:
        """Return the newest lines of the history."""
        found = self.archive.api("GET", "history?order=newest&limit=50").json()["history"]
        return [dict(line) for line in found]

    def acts(self) -> list[tuple[str, str]]:
        """Return the actors and acts of these lines."""
        return [(line["who"], line["act"]) for line in self.history()]


@pytest.fixture(
    scope="module",
    params=[("sqlite", "2"), ("postgresql", "")],
    ids=lambda each: "-".join(filter(None, each)),
)
def scene(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scene]:
    request.param, workers = request.param
    options = database_options(request, "--catalogue")
    archive = ArchiveServer(tmp_path_factory.mktemp("admin"), *options)
    archive.set(audit_days=0, allowed_networks=["127.0.0.0/8"])
    archive.wanted_workers = workers
    with archive as started:
        item = started.deposit({"a.txt": b"a" * 1000})
        roles = ("viewer", "depositor", "curator", "administrator")
        people = {role: started.signed_in(role, full_name=f"The {role} Lima") for role in roles}
        yield Scene(started, people, item["ibip"])


@pytest.mark.parametrize("path", CURATED)
def test_curators_see_what_the_api_shows_them(scene: Scene, path: str) -> None:
    for role in ("curator", "administrator"):
        assert scene.page(path, role)
    for role in ("viewer", "depositor"):
        assert scene.people[role].get(f"/admin{path}", Accept="text/html").status == 403
    stranger = Browser(scene.archive.address).get(f"/admin{path}", Accept="text/html")
    assert stranger.status == 303
    assert stranger.headers["location"].startswith("/sign-in?next=/admin")


@pytest.mark.parametrize("path", ADMINISTERED)
def test_some_pages_are_for_administrators(scene: Scene, path: str) -> None:
    assert scene.page(path)
    for role in ("viewer", "depositor", "curator"):
        assert scene.people[role].get(f"/admin{path}", Accept="text/html").status == 403


def test_the_first_page_says_what_to_look_at(scene: Scene) -> None:
    assert "Names of hosts are looked up on request:" in scene.page("")
    assert "Checked just now" in scene.page("?names=1")
    page = scene.page("")  # which repeats what was found
    assert "archive.example.org cannot be resolved" in page
    assert "make a DNS record for it" in page
    assert "Safe to mint" in page
    assert "No damage known" in page
    assert "1 files of 1 items" in page
    assert "não pode ser resolvido" in scene.page("?lang=pt-BR")
    assert "/admin/minting" not in scene.page("", "curator")


def test_the_api_has_the_same_checks(scene: Scene) -> None:
    findings = scene.archive.api("GET", "health").json()["findings"]
    assert findings[0]["verdict"] == "failure"
    assert {finding["check"] for finding in findings} >= {"ledger", "files", "link", "disk"}
    assert scene.archive.api("GET", "health", token="").status == 401


def test_an_audit_is_begun_and_noted(scene: Scene) -> None:
    answer = scene.administrator.post("/admin/files", {"rate": "", "repair": ""})
    assert (answer.status, answer.headers["location"]) == (303, "/admin/files")
    wait_until(lambda: "Done" in scene.page("/files"))
    assert ("@administrator", "audit") in scene.acts()
    [task] = scene.archive.api("GET", "tasks?kind=audit").json()["tasks"]
    assert task["who"] == "@administrator"
    assert "Check of all files" in scene.page("/tasks")
    assert scene.people["curator"].post("/admin/files", {}).status == 403


def test_a_task_is_cancelled_after_a_yes(scene: Scene) -> None:
    begun = scene.archive.api("POST", "audits", {"rate": 0.000001})
    assert begun.status == 202, begun.body
    id_ = begun.json()["id"]
    path = f"/admin/tasks/{id_}/cancel"
    assert path in scene.page("/tasks")
    assert path not in scene.page("/tasks", "curator")
    question = scene.administrator.get(path)
    assert b"Cancel this task?" in question.body
    assert scene.archive.api("GET", f"tasks/{id_}").json()["state"] in {"waiting", "running"}
    assert scene.people["curator"].post(path, {}).status == 403
    done = scene.administrator.submit(question, path, {})
    assert (done.status, done.headers["location"]) == (303, "/admin/tasks")
    assert scene.archive.api("GET", f"tasks/{id_}").json()["state"] == "cancelled"
    assert ("@administrator", "cancel task") in scene.acts()
    assert scene.administrator.post(path, {}).status == 409
    assert scene.administrator.get("/admin/tasks/none/cancel").status == 404


def test_a_resolver_is_linked_and_left_after_a_yes(scene: Scene) -> None:
    bad = scene.administrator.post("/admin/resolvers", {"resolver": "no <address>", "key": "k"})
    assert bad.status == 400
    assert b"no &lt;address&gt;" in bad.body
    assert b'aria-invalid="true"' in bad.body
    made = scene.administrator.post("/admin/resolvers", {"resolver": NOWHERE})
    assert made.status == 201, made.body
    assert re.search(rb'id="made-key" class="label">[0-9]{39}<', made.body)
    assert "made-key" not in scene.page("/resolvers")
    path = f"/admin/resolvers/remove?resolver={NOWHERE}"
    question = scene.administrator.get(path)
    assert NOWHERE in scene.page("/resolvers", "curator")
    left = scene.administrator.submit(question, "/admin/resolvers/remove", {})
    assert (left.status, left.headers["location"]) == (303, "/admin/resolvers")
    acts = scene.acts()
    assert ("@administrator", "link") in acts
    assert ("@administrator", "unlink") in acts
    unknown = scene.administrator.post("/admin/resolvers/remove", {"resolver": "http://y.example"})
    assert unknown.status == 404


def test_the_audit_log_is_filtered_and_paged(scene: Scene) -> None:
    assert "The administrator Lima" in scene.page("/audit-log?who=@administrator")
    only = scene.page("/audit-log?act=deposit")
    assert scene.archive.item(scene.label)["rep"] in only
    assert "made an account" not in re.sub(r"<option.*?</option>", "", only)
    assert "Nothing in the audit log matches." in scene.page("/audit-log?to=2001-01-01")
    assert "Nothing in the audit log matches." in scene.page("/audit-log?who=%00%27--")
    wrong = scene.administrator.get("/admin/audit-log?from=2026-02-30&who=ana", Accept="text/html")
    assert wrong.status == 400
    assert b"is not a day" in wrong.body
    assert b'value="ana"' in wrong.body
    for _ in range(55):
        scene.archive.api("POST", "reservations", {"count": 1})
    first = scene.page("/audit-log?act=reserve")
    older = re.search(r'href="(/admin/audit-log\?[^"]*after=[0-9]+)"', first)
    assert older is not None
    second = scene.page(older[1].removeprefix("/admin").replace("&amp;", "&"))
    assert first.count("reserved labels") > second.count("reserved labels") > 1


@pytest.mark.parametrize("path", ["/admin/files", "/admin/resolvers", "/admin/resolvers/remove"])
def test_forms_of_other_sites_do_nothing(scene: Scene, path: str) -> None:
    fields = {"resolver": "http://z.example.org"}
    before = scene.archive.api("GET", "resolvers").json()
    forged = scene.administrator.post(path, fields, Origin="https://evil.example")
    assert forged.status == 403
    assert scene.archive.api("GET", "resolvers").json() == before


def test_the_settings_are_shown_as_they_are(scene: Scene) -> None:
    page = scene.page("/identity")
    assert "Arquivo de prova" in page
    assert "admin@example.org" in page
    minting = scene.page("/minting")
    assert "archive.example.org" in minting
    assert "Past the last label" in minting
