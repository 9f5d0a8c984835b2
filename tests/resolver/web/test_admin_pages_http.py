"""The pages of operators: archives, registrations, conflicts, traffic, and a yes for each act."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from tests.support.clients.browser import Browser
from tests.support.doubles.archive import ArchiveDouble
from tests.support.servers.postgres import database_options
from tests.support.servers.resolver import ResolverServer
from tests.support.waiting import wait_until

LABEL = "8JMKD3MGP7W/3EPGUE5"
MISSING = "8JMKD3MGP7W/3EPGUEA"
ROGUE = "8JMKD3MGP8W/34PHP47"
PENDING = "8JMKD3MGP8W/34PHP4E"
OTHER = "8JMKD3MGP8W/34PHP4A"
PAGES = ("", "/registrations", "/conflicts", "/figures", "/figures?span=day", "/audit-log")
MESSAGE = """\
From: Gerald <admin@example.org>
Subject: Cadastro de um novo Arquivo
Content-Type: text/plain; charset=utf-8

archiveserviceibi = {service}
registrationkey = 1234567890
"""


@dataclass
class Scene:
    """A resolver with two archives, and people who may read it and operate it."""

    resolver: ResolverServer
    archive: ArchiveDouble
    operator: Browser
    reader: Browser

    def history(self) -> list[tuple[str, str]]:
        """Return the actor and the act of each line of the history."""
        lines = self.resolver.api("GET", "history?limit=1000").json()["history"]
        return [(line["who"], line["act"]) for line in lines]


@pytest.fixture(
    scope="module",
    params=[("sqlite", ""), ("postgresql", "2")],
    ids=lambda each: "-".join(filter(None, each)),
)
def scene(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scene]:
    request.param, workers = request.param
    options = database_options(request, "--database")
    resolver = ResolverServer(tmp_path_factory.mktemp("operators"), *options)
    resolver.wanted_workers = workers
    with ExitStack() as stack:
        archive = stack.enter_context(ArchiveDouble())
        stack.enter_context(resolver)
        archive.hold(LABEL)
        resolver.include(archive)
        assert resolver.get(f"/{LABEL}").status == 302
        assert resolver.get(f"/{MISSING}").status == 404
        operator = resolver.signed_in("administrator", name="ana", full_name="Ana Lima")
        reader = resolver.signed_in("viewer", name="rui", full_name="Rui Reis")
        yield Scene(resolver, archive, operator, reader)


@pytest.mark.parametrize("path", PAGES)
def test_pages_are_for_people_who_may_read(scene: Scene, path: str) -> None:
    for browser in (scene.operator, scene.reader):
        answer = browser.get(f"/admin{path}", Accept="text/html")
        assert answer.status == 200, answer.body
        assert b'aria-current="page"' in answer.body
        assert answer.headers["cache-control"] == "no-store"
    anonymous = Browser(scene.resolver.address).get(f"/admin{path}", Accept="text/html")
    assert anonymous.status == 303
    assert "/sign-in" in anonymous.headers["location"]


def test_the_first_page_shows_the_archives_and_how_fast_they_answer(scene: Scene) -> None:
    page = scene.operator.get("/admin", Accept="text/html").body.decode()
    assert scene.archive.service in re.sub("<wbr>", "", page)
    assert "In service" in page
    assert re.search(r"[0-9]\.[0-9]{3}\N{NO-BREAK SPACE}s", page) or "–" in page
    portuguese = scene.operator.get("/admin?lang=pt-BR", Accept="text/html").body.decode()
    assert "Em serviço" in portuguese
    assert "Acervos que respondem" in portuguese


def test_the_api_says_how_fast_archives_answer(scene: Scene) -> None:
    def seconds() -> float:
        # Of two processes the one that asked knows: each connection goes to either of them.
        answer = scene.resolver.api("GET", "archives", Connection="close").json()
        [found] = (
            each for each in answer["archives"] if each["service_ibi"] == scene.archive.service
        )
        return float(found.get("response_seconds", 0))

    wait_until(lambda: seconds() > 0)


def test_only_operators_get_the_forms(scene: Scene) -> None:
    decision = f"/admin/decision?act=exclude&service={scene.archive.service}"
    assert "/admin/decision" in scene.operator.get("/admin").body.decode()
    assert "/admin/decision" not in scene.reader.get("/admin").body.decode()
    assert scene.operator.get(decision).status == 200
    assert scene.reader.get(decision, Accept="text/html").status == 403
    fields = {"act": "exclude", "service": scene.archive.service}
    assert scene.reader.post("/admin/decision", fields).status == 403
    assert scene.resolver.archives()[scene.archive.service]["state"] == "included"


def test_an_archive_is_excluded_after_a_yes(scene: Scene) -> None:
    with ArchiveDouble(service=ROGUE) as other:
        key = scene.resolver.include(other)
        path = f"/admin/decision?act=exclude&service={other.service}"
        question = scene.operator.get(path)
        assert b"Exclude the archive" in question.body
        assert scene.resolver.archives()[other.service]["state"] == "included"
        done = scene.operator.submit(question, "/admin/decision", {})
        assert (done.status, done.headers["location"]) == (303, "/admin")
        wait_until(lambda: scene.resolver.archives()[other.service]["state"] == "excluded")
        assert ("@ana", "exclude") in scene.history()
        scene.resolver.announce(other, key)
        fields = {"act": "remove", "service": other.service}
        assert scene.operator.post("/admin/decision", fields).status == 303
        wait_until(lambda: other.service not in scene.resolver.archives())
        assert ("@ana", "remove") in scene.history()


@pytest.mark.parametrize("act", ["accept", "refuse"])
def test_a_registration_is_decided_after_a_yes(scene: Scene, act: str) -> None:
    mail = MESSAGE.format(service=PENDING).encode()
    took = scene.resolver.api("POST", "registrations/mail", mail)
    assert took.status == 202, took.body
    wait_until(lambda: PENDING in re.sub("<wbr>", "", _page(scene, "/admin/registrations")))
    question = scene.operator.get(f"/admin/decision?act={act}&service={PENDING}")
    assert question.status == 200, question.body
    done = scene.operator.submit(question, "/admin/decision", {})
    assert (done.status, done.headers["location"]) == (303, "/admin/registrations")
    if act == "accept":
        wait_until(lambda: scene.resolver.archives()[PENDING]["state"] == "excluded")
        assert ("@ana", "confirm") in scene.history()
    fields = {"act": "remove", "service": PENDING}
    if act == "accept":
        assert scene.operator.post("/admin/decision", fields).status == 303
    wait_until(lambda: PENDING not in scene.resolver.archives())
    assert ("@ana", "remove") in scene.history()


def _page(scene: Scene, path: str) -> str:
    return scene.operator.get(path, Accept="text/html").body.decode()


def test_an_operator_registers_an_archive(scene: Scene) -> None:
    bad = {"service": "no <label>", "administrator": "a@example.org", "hosts": "x.example.org"}
    refused = scene.operator.post("/admin/registrations", bad)
    assert refused.status == 400
    assert b'value="no &lt;label&gt;"' in refused.body
    assert b"service-fault" in refused.body
    good = {"service": OTHER, "administrator": "a@example.org", "hosts": ""}
    assert scene.reader.post("/admin/registrations", good).status == 403
    made = scene.operator.post("/admin/registrations", good)
    assert made.status == 201, made.body
    assert b'id="made-key"' in made.body
    assert b"made-key" not in scene.operator.get("/admin/registrations").body
    wait_until(lambda: OTHER in scene.resolver.archives())
    assert ("@ana", "register") in scene.history()
    scene.operator.post("/admin/decision", {"act": "remove", "service": OTHER})


@pytest.mark.parametrize("act", ["", "destroy"])
def test_unknown_acts_are_refused(scene: Scene, act: str) -> None:
    service = scene.archive.service
    path = f"/admin/decision?act={act}&service={service}"
    assert scene.operator.get(path).status == 404
    assert scene.operator.post("/admin/decision", {"act": act, "service": service}).status == 404
    assert scene.operator.get("/admin/decision?act=remove&service=none").status in {400, 404}
    assert scene.resolver.archives()[service]["state"] == "included"


def test_a_conflict_is_settled_after_a_yes(scene: Scene) -> None:
    with ArchiveDouble(service=ROGUE) as rogue:
        scene.resolver.include(rogue)
        label = "8JMKD3MGP7W/3EPGUHK"
        scene.archive.hold(label)
        rogue.hold(label)
        scene.resolver.get(f"/{label}?ibiurl.requireditemstatus=Original")
        wait_until(lambda: bool(scene.resolver.api("GET", "conflicts").json()["conflicts"]))
        [conflict] = scene.resolver.api("GET", "conflicts").json()["conflicts"]
        path = f"/admin/conflicts/{conflict['number']}"
        page = scene.operator.get(path)
        text = re.sub("<wbr>", "", page.body.decode())
        assert all(claim["archive"] in text for claim in conflict["claims"])
        assert "<form" not in re.sub(
            "<form class=.find.*?</form>", "", scene.reader.get(path).body.decode()
        )
        unchosen = scene.operator.submit(page, path, {"note": "<b>why</b>", "owner": ""})
        assert unchosen.status == 400
        assert b"Choose the archive that has the Original." in unchosen.body
        assert b"&lt;b&gt;why&lt;/b&gt;" in unchosen.body
        chosen = {"owner": rogue.service, "note": "by telephone"}
        question = scene.operator.submit(page, path, chosen)
        assert question.status == 200
        assert scene.resolver.api("GET", "conflicts").json()["conflicts"] == [conflict]
        done = scene.operator.submit(question, f"{path}/settlement", {})
        assert (done.status, done.headers["location"]) == (303, path)
        [settled] = scene.resolver.api("GET", "conflicts?all=true").json()["conflicts"]
        assert (settled["owner"], settled["note"]) == (rogue.service, "by telephone")
        assert ("@ana", "settle") in scene.history()
        assert b'<dt>Settled by</dt><dd dir="auto">@ana</dd>' in scene.operator.get(path).body
        assert b"settled a conflict for" in scene.reader.get("/admin/audit-log?who=ana").body
        assert scene.reader.post(f"{path}/settlement", chosen).status == 403
    assert scene.operator.get("/admin/conflicts/4711").status == 404
    assert scene.operator.get("/admin/conflicts/none").status == 400


def test_the_audit_log_names_people(scene: Scene) -> None:
    page = scene.reader.get("/admin/audit-log?before=99999999999999999999").body.decode()
    assert "register" in page
    everything = scene.reader.get("/admin/audit-log").body.decode()
    assert "took into service" in everything
    service = scene.archive.service
    for query, is_shown in (
        ("act=register", True),
        ("act=settle&who=@nobody", False),
        (f"act=register&archive={service}", True),
        ("act=register&archive=8JMKD3MGP7W/3EPGUE5", False),
    ):
        page = scene.reader.get(f"/admin/audit-log?{query}").body.decode()
        rows = page.partition("<tbody>")[2]
        assert ("registered" in rows) is is_shown, query
        assert "included" not in rows
    faulty = scene.reader.get("/admin/audit-log?archive=no%20label")
    assert faulty.status == 400
    assert b'value="no label"' in faulty.body


def test_a_form_of_another_site_does_nothing(scene: Scene) -> None:
    fields = {"act": "exclude", "service": scene.archive.service}
    answer = scene.operator.post("/admin/decision", fields, csrf="0" * 64)
    assert answer.status != 303
    forged = scene.operator.post("/admin/decision", fields, Origin="https://evil.example")
    assert forged.status == 403
    assert scene.resolver.archives()[scene.archive.service]["state"] == "included"
