"""People sign in to an archive, and their sessions authorize pages and the API."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.clients.browser import PASSWORD, Browser, hidden, main_part
from tests.support.servers.archive import ArchiveServer

pytestmark = pytest.mark.http


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArchiveServer]:
    """Serve an archive."""
    server = ArchiveServer(tmp_path_factory.mktemp("accounts")).start()
    yield server
    server.stop()


def signing_in(browser: Browser, name: str, password: str = PASSWORD, **more: str) -> int:
    page = browser.get("/sign-in")
    answer = browser.submit(page, "/sign-in", {"name": name, "password": password, **more})
    return answer.status


def test_an_invitation_makes_an_account_once(archive: ArchiveServer) -> None:
    link = archive.api("POST", "invitations", {"role": "viewer"}).json()["link"]
    path = link.removeprefix(archive.address)
    browser, other = Browser(archive.address), Browser(archive.address)
    first, second = browser.get(path), other.get(path)
    typed = {"full_name": "Ana Lima", "password": PASSWORD, "repeated": PASSWORD}
    assert browser.submit(first, path, {**typed, "name": "ana"}).status == 303
    assert other.submit(second, path, {**typed, "name": "eva"}).status == 404
    names = [each["name"] for each in archive.api("GET", "accounts").json()["accounts"]]
    assert "ana" in names
    assert "eva" not in names


def test_people_sign_in_and_out(archive: ArchiveServer) -> None:
    archive.signed_in("depositor", "rui", "Rui Sá")
    browser = Browser(archive.address)
    assert "Rui Sá" not in browser.get("/").body.decode()
    assert signing_in(browser, "Rui ") == 303
    home = browser.get("/")
    assert "Rui Sá" in home.body.decode()
    assert home.headers["cache-control"] == "private, no-cache"
    assert browser.api("POST", "reservations", {"count": 1}).status == 201
    assert browser.post("/sign-out").status == 303
    assert browser.cookies == {}
    assert "Rui Sá" not in browser.get("/").body.decode()


def test_a_session_has_the_scopes_of_the_role(archive: ArchiveServer) -> None:
    viewer = archive.signed_in("viewer", "leitora")
    assert viewer.get("/api/v1/items").status == 200
    refused = viewer.api("POST", "reservations", {"count": 1})
    assert refused.status == 403
    assert refused.json()["type"] == "urn:ibi:problem:role-needed"


def test_the_history_names_the_account(archive: ArchiveServer) -> None:
    browser = archive.signed_in("depositor", "beto")
    opened = browser.api("POST", "deposits", {"metadata": {"titles": ["By a person"]}})
    assert opened.status == 201, opened.body
    id_ = opened.json()["id"]
    assert browser.api("PUT", f"deposits/{id_}/files/a.txt", b"text").status == 201
    assert browser.api("POST", f"deposits/{id_}/completion").status == 200
    entries = archive.api("GET", "history?who=@beto").json()["history"]
    assert {each["who"] for each in entries} == {"@beto"}


def test_a_form_of_an_ended_session_is_carried_through_the_sign_in(archive: ArchiveServer) -> None:
    browser = archive.signed_in("depositor", "caio")
    token = browser.csrf
    # The session ends on the server; the page with the form is still open.
    twin = Browser(archive.address)
    twin.cookies = dict(browser.cookies)
    assert twin.post("/sign-out").status == 303
    page = browser.post("/sign-out", {"typed": "Água & <sal>"}, csrf=token)
    assert page.status == 401
    fields = hidden(page)
    assert fields["carried-path"] == "/sign-out"


def test_the_sign_in_does_not_say_whether_there_is_an_account(archive: ArchiveServer) -> None:
    archive.signed_in("viewer", "dora")
    browser = Browser(archive.address)
    pages = []
    for name in ("dora", "no-such-name"):
        page = browser.get("/sign-in")
        answer = browser.submit(page, "/sign-in", {"name": name, "password": "wrong password!"})
        assert answer.status == 403
        pages.append(main_part(answer).replace(name, "NAME"))
    assert "The name or the password is wrong." in pages[0]
    without_token = [page.partition('name="csrf"')[0] for page in pages]
    assert without_token[0] == without_token[1]


def test_a_new_instance_in_another_folder_has_no_accounts(tmp_path: Path) -> None:
    with_none = ArchiveServer(tmp_path)
    with_none.start()
    try:
        assert with_none.api("GET", "accounts").json() == {"accounts": [], "after": ""}
    finally:
        with_none.stop()
