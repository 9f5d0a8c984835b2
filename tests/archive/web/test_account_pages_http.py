"""The pages of accounts: a person's own, those of administrators, and those behind links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from subprocess import CompletedProcess

import pytest

from tests.support.clients.browser import PASSWORD, Browser, main_part
from tests.support.clients.http import Answer
from tests.support.processes.environment import own_environment
from tests.support.processes.fork_server import run
from tests.support.servers.archive import ArchiveServer

pytestmark = pytest.mark.http

_NEW = "other horses, other staples"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArchiveServer]:
    """Serve an archive."""
    server = ArchiveServer(tmp_path_factory.mktemp("account-pages")).start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def administrator(archive: ArchiveServer) -> Browser:
    return archive.signed_in("administrator", "chefe", "Otávio Lemos")


def signed_in_again(archive: ArchiveServer, name: str, password: str = PASSWORD) -> Browser:
    browser = Browser(archive.address)
    page = browser.get("/sign-in")
    answer = browser.submit(page, "/sign-in", {"name": name, "password": password})
    browser.name = name if answer.status == 303 else ""
    return browser


def accounts(archive: ArchiveServer, *arguments: str) -> CompletedProcess[str]:
    command = ["archive", "account", *arguments, "--data", str(archive.data)]
    return run(command, own_environment(archive.folder))


def link_in(page: Answer, archive: ArchiveServer) -> str:
    found = re.search(r'data-copy="([^"]+)"', page.body.decode())
    assert found is not None
    return found[1].removeprefix(archive.address)


def test_the_link_of_init_makes_the_first_administrator(archive: ArchiveServer) -> None:
    path = archive.made["administrator"].removeprefix(archive.address)
    browser = Browser(archive.address)
    page = browser.get(path)
    typed = {"name": "primeira", "full_name": "A primeira", "mail": "p@example.org"}
    passwords = {"password": PASSWORD, "repeated": PASSWORD}
    assert browser.submit(page, path, {**typed, **passwords}).status == 303
    assert browser.get("/admin/accounts").status == 200
    assert browser.get(path).status == 404


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("name", "Ana Lima", "A name has 1 to 40"),
        ("name", "@ana", "A name has 1 to 40"),
        ("full_name", " ", "Write the name"),
        ("full_name", "a\u202eb", "one line of at most"),
        ("mail", "ana", "not an e-mail address"),
        ("password", "short", "at least 12"),
        ("password", "abcdefghijklmnop", "easy to guess"),
        ("password", "aaaaaaaaaaaaaaaa", "easy to guess"),
        ("repeated", "another password", "not the same"),
        ("name", "primeira", "take another name"),
        ("mail", "P@example.org", "Another account has this address"),
    ],
)
def test_faults_of_an_invitation_stand_beside_their_fields(
    archive: ArchiveServer, field: str, value: str, text: str
) -> None:
    made = archive.api("POST", "invitations", {"role": "viewer"}).json()
    path = made["link"].removeprefix(archive.address)
    browser = Browser(archive.address)
    good = {"name": "boa", "full_name": "Boa", "mail": "", "password": PASSWORD}
    typed = {**good, "repeated": PASSWORD, field: value}
    if field == "password":
        typed["repeated"] = value
    answer = browser.submit(browser.get(path), path, typed)
    assert answer.status == 400
    page = main_part(answer)
    assert text in page[page.index(f'id="{field}-fault"') :]
    assert PASSWORD not in page
    if field != "full_name":
        assert 'value="Boa"' in page
    assert archive.api("DELETE", f"invitations/{made['id']}").status == 204
    assert browser.get(path).status == 404


def test_a_person_changes_names_and_address(archive: ArchiveServer) -> None:
    browser = archive.signed_in("depositor", "nina", "Nina")
    page = browser.get("/account")
    assert "@nina" in main_part(page)
    changed = browser.submit(page, "/account", {"full_name": "Nina Sá", "mail": ""})
    assert changed.status == 303
    assert "Nina Sá" in browser.get("/").body.decode()
    refused = browser.post("/account", {"full_name": "Nina Sá", "mail": "n@example.org"})
    assert refused.status == 400
    assert "This is not your password" in main_part(refused)
    fields = {"full_name": "Nina Sá", "mail": "n@example.org", "current-for-mail": PASSWORD}
    assert browser.post("/account", fields).status == 303
    assert archive.api("GET", "accounts/nina").json()["mail"] == "n@example.org"
    assert signed_in_again(archive, "N@example.org").name


def test_a_new_password_ends_the_other_sessions(archive: ArchiveServer) -> None:
    browser = archive.signed_in("viewer", "pia")
    other = signed_in_again(archive, "pia")
    wrong = {"current": "no", "password": _NEW, "repeated": _NEW}
    assert browser.post("/account/password", wrong).status == 400
    assert other.get("/account").status == 200
    right = {**wrong, "current": PASSWORD}
    assert browser.post("/account/password", right).status == 303
    assert browser.get("/account").status == 200
    assert other.get("/account").status == 303
    assert not signed_in_again(archive, "pia").name
    assert signed_in_again(archive, "pia", _NEW).name


def test_sessions_are_listed_and_ended(archive: ArchiveServer) -> None:
    browser = archive.signed_in("viewer", "ivo")
    second, third = (signed_in_again(archive, "ivo") for _ in range(2))
    page = browser.get("/account")
    assert main_part(page).count("Sign out there") == 2
    [one, _] = re.findall(r'name="session" value="([0-9a-f]+)"', main_part(page))
    assert browser.post("/account/sessions", {"session": one}).status == 303
    assert sorted([second.get("/account").status, third.get("/account").status]) == [200, 303]
    assert browser.post("/account/sessions").status == 303
    assert {second.get("/account").status, third.get("/account").status} == {303}
    assert browser.get("/account").status == 200


def test_a_person_cannot_end_the_session_of_another(archive: ArchiveServer) -> None:
    victim, other = archive.signed_in("viewer", "eva"), archive.signed_in("viewer", "mal")
    twin = signed_in_again(archive, "eva")
    [one] = re.findall(r'name="session" value="([0-9a-f]+)"', main_part(victim.get("/account")))
    assert other.post("/account/sessions", {"session": one}).status == 303
    assert twin.get("/account").status == 200


def test_personal_tokens_have_scopes_of_the_role_at_most(archive: ArchiveServer) -> None:
    browser = archive.signed_in("depositor", "toni")
    fields = {"token": "script", "scope": "deposit", "days": "30"}
    page = browser.post("/account/tokens", fields)
    assert page.status == 200
    secret = link_in(page, archive)
    made = archive.api("POST", "reservations", {"count": 1}, token=secret)
    assert made.status == 201
    kept = archive.api("GET", "reservations").json()["labels"]
    assert kept
    refused = browser.post("/account/tokens", {**fields, "scope": "administer"})
    assert refused.status == 400
    names = [each["name"] for each in archive.api("GET", "tokens").json()["tokens"]]
    assert "@toni/script" in names
    # A role with less takes the token's right away, without a change of the token.
    assert archive.api("PATCH", "accounts/toni", {"role": "viewer"}).status == 200
    archive.restart()
    assert archive.api("POST", "reservations", {"count": 1}, token=secret).status == 401
    assert browser.post("/account/tokens/removal", {"token": "script"}).status == 303
    names = [each["name"] for each in archive.api("GET", "tokens").json()["tokens"]]
    assert "@toni/script" not in names


def test_no_token_can_have_the_name_of_an_account(archive: ArchiveServer) -> None:
    for name in ("@toni", "@toni/script", "toni/script"):
        refused = archive.api("POST", "tokens", {"name": name, "scope": "read"})
        assert refused.status == 400


def test_an_administrator_invites_and_revokes(
    archive: ArchiveServer, administrator: Browser
) -> None:
    made = administrator.post("/admin/accounts", {"role": "curator", "mail": ""})
    assert made.status == 201
    path = link_in(made, archive)
    assert Browser(archive.address).get(path).status == 200
    page = administrator.get("/admin/accounts")
    ids = re.findall(r'name="invitation" value="([0-9a-f]+)"', main_part(page))
    for each in ids:
        revoked = administrator.post("/admin/invitations/removal", {"invitation": each})
        assert revoked.status == 303
    assert Browser(archive.address).get(path).status == 404
    wrong = administrator.post("/admin/accounts", {"role": "king", "mail": "x"})
    assert wrong.status == 400


def test_an_administrator_changes_roles_and_states(
    archive: ArchiveServer, administrator: Browser
) -> None:
    browser = archive.signed_in("viewer", "lia", "Lia")
    place = "/admin/accounts/lia"
    assert "Lia" in main_part(administrator.get(place))
    assert administrator.post(f"{place}/role", {"role": "curator"}).status == 303
    assert "curator" in main_part(browser.get("/account"))
    asked = administrator.post(f"{place}/state", {"state": "inactive"})
    assert asked.status == 200
    assert "Deactivate the account lia?" in main_part(asked)
    assert browser.get("/account").status == 200
    done = administrator.submit(asked, f"{place}/state", {})
    assert done.status == 303
    assert browser.get("/account").status == 303
    assert not signed_in_again(archive, "lia").name
    assert administrator.post(f"{place}/state", {"state": "active"}).status == 303
    assert signed_in_again(archive, "lia").name
    removed = administrator.post(f"{place}/state", {"state": "removed", "confirmed": "yes"})
    assert removed.status == 303
    found = archive.api("GET", "accounts/lia").json()
    assert (found["state"], found["full_name"]) == ("removed", "lia")
    acts = archive.api("GET", "history?who=@chefe&limit=1000").json()["history"]
    assert {"change role", "deactivate account", "activate account", "remove account"} <= {
        each["act"] for each in acts
    }


def test_the_last_administrator_stays(archive: ArchiveServer, administrator: Browser) -> None:
    assert archive.api("PATCH", "accounts/primeira", {"state": "inactive"}).status == 200
    kept = administrator.post("/admin/accounts/chefe/role", {"role": "viewer"})
    assert kept.status == 409
    assert "last administrator" in main_part(kept)
    refused = archive.api("PATCH", "accounts/chefe", {"state": "removed"})
    assert refused.status == 409
    assert archive.api("PATCH", "accounts/primeira", {"state": "active"}).status == 200


def test_a_link_of_an_administrator_sets_a_password(
    archive: ArchiveServer, administrator: Browser
) -> None:
    browser = archive.signed_in("viewer", "ugo")
    made = administrator.post("/admin/accounts/ugo/reset")
    assert made.status == 201
    path = link_in(made, archive)
    other = Browser(archive.address)
    weak = other.submit(other.get(path), path, {"password": "x", "repeated": "x"})
    assert weak.status == 400
    assert other.submit(weak, path, {"password": _NEW, "repeated": _NEW}).status == 303
    assert other.get("/account").status == 200
    assert browser.get("/account").status == 303
    assert Browser(archive.address).get(path).status == 404


def test_commands_manage_accounts(archive: ArchiveServer) -> None:
    made = accounts(archive, "invite", "--role", "depositor")
    assert made.stdout.startswith(f"{archive.address}/invitation/")
    archive.signed_in("viewer", "cora", "Cora")
    assert "cora\tviewer\tactive\tCora" in accounts(archive, "list").stdout
    assert accounts(archive, "role", "cora", "depositor").stdout == "cora is depositor\n"
    reset = accounts(archive, "reset", "cora")
    assert reset.stdout.startswith(f"{archive.address}/password/")
    assert accounts(archive, "deactivate", "cora").returncode == 0
    assert accounts(archive, "activate", "cora").returncode == 0
    assert accounts(archive, "remove", "cora", "--yes").stdout == "removed cora\n"
    assert accounts(archive, "role", "nobody", "viewer").returncode != 0


def test_pages_are_in_portuguese(archive: ArchiveServer, administrator: Browser) -> None:
    signs_in = Browser(archive.address).get("/sign-in?lang=pt")
    assert "Entrar" in main_part(signs_in)
    page = main_part(administrator.get("/account?lang=pt"))
    assert "Onde você está conectado" in page
    page = main_part(administrator.get("/admin/accounts?lang=pt"))
    assert "Convidar" in page
