"""Threats, row 29: pages with accounts.

Forged forms, session fixation, enumeration, spraying, click-jacking, open redirects, scripts in
names, and every route tried as every role that may not use it. The twin is one archive without all
of these guards, on which each attack must succeed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import pytest

from ibi.archive.rules.scopes import ROLE_SCOPES, SCOPES
from ibi.archive.web.api.operations import OPERATIONS
from ibi.archive.web.page_operations import PAGE_OPERATIONS
from ibi.foundation.web.authorization import PUBLIC
from ibi.foundation.web.page_operations import PageOperation
from tests.support.clients.browser import PASSWORD, Browser, hidden, main_part
from tests.support.clients.http import Answer
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.attacked_archive import attacked

WITHOUT_GUARDS: Final = """
from ibi.errors import NoAccountError, Sentence
from ibi.foundation.accounts import accounts, sign_in_pages
from ibi.foundation.accounts.accounts import Accounts
from ibi.foundation.accounts.sessions import Sessions
from ibi.foundation.accounts.store import SqlAccounts
from ibi.foundation.pages import response, templates
from ibi.foundation.web import authorization, page_operations
from ibi.foundation.web.form_tokens import Origins
from ibi.foundation.web.tokens import digest
from ibi.model.account import Session

Origins.is_foreign = lambda self, request: False
Origins.is_asserted = lambda self, request: True
page_operations.is_form_token = lambda secret, token: True
authorization.is_form_token = lambda secret, token: True
page_operations._check_scope = lambda operation, visitor: None
page_operations.PAGE_HEADERS = {}

def authorized(self, visitor, request, scope):
    request.scope[authorization.CALLER] = visitor.actor
    request.scope[authorization.GRANTED] = visitor.scopes
    return visitor.actor

authorization.Authorizer._authorize_visitor = authorized
response.PAGE_HEADERS = {**response.PAGE_HEADERS, "Content-Security-Policy": "default-src *"}
SqlAccounts.charge = lambda self, limits, now: 0
sign_in_pages.next_of = lambda text: text

def begin(self, account, agent, replaced=""):
    now = self._clock.wall()
    self._store.add_session(Session(digest(replaced), account.name, now, now, agent))
    return replaced

Sessions.begin = begin

careful = Accounts.sign_in

def sign_in(self, typed, password, network):
    if self.store.get(typed) is None:
        raise sign_in_pages.TooManyRequestsError(60)
    return careful(self, typed, password, network)

Accounts.sign_in = sign_in

Environment = templates.Environment
templates.Environment = lambda **given: Environment(**{**given, "autoescape": False})
"""

# The same numbers of guesses at once, and so few later that the time of the test does not matter.
SLOWLY: Final = """
from ibi.foundation.accounts import rules

usual = rules.guess_limits

def slow(name, network):
    return tuple(each._replace(interval=rules.DAY) for each in usual(name, network))

rules.guess_limits = slow
"""
UNLIMITED: Final = """
from ibi.foundation.accounts.store import SqlAccounts

SqlAccounts.charge = lambda self, limits, now: 0
"""

SCRIPT: Final = "<script>alert(1)</script>"
ELSEWHERE: Final = (
    "//evil.example",
    "https://evil.example/",
    "/\\evil.example",
    "\\\\evil.example",
    "/\t/evil.example",
    "javascript:alert(1)",
    "///evil.example",
    "http:evil.example",
)


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArchiveServer]:
    """Run an archive as it is shipped."""
    with attacked(tmp_path_factory.mktemp("guarded")) as server:
        yield server


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArchiveServer]:
    """Run the same archive without guards."""
    with attacked(tmp_path_factory.mktemp("twin"), WITHOUT_GUARDS) as server:
        yield server


def signed_in(archive: ArchiveServer, role: str, name: str, full_name: str = "") -> Browser:
    """Return a person with a role; make the account only once."""
    if archive.api("GET", f"accounts/{name}").status == 200:
        browser = Browser(archive.address)
        typed = {"name": name, "password": PASSWORD}
        assert browser.submit(browser.get("/sign-in"), "/sign-in", typed).status == 303
        return browser
    return archive.signed_in(role, name, full_name)


def path_of(operation: PageOperation) -> str:
    return operation.path.replace("{name}", "victim").replace("{secret}", "x" * 43)


def is_refused(answer: Answer) -> bool:
    leads_to_sign_in = answer.headers.get("location", "").startswith("/sign-in?next=")
    return answer.status in {401, 403} or leads_to_sign_in


# Privileges: every page and every operation, as every role that lacks its scope.


def used_without_right(archive: ArchiveServer, role: str) -> list[str]:
    """Try all pages that a role may not use; return those that did not refuse."""
    signed_in(archive, "viewer", "victim")
    has = SCOPES.included(ROLE_SCOPES[role]) if role else ()
    browser = signed_in(archive, role, f"a-{role}") if role else Browser(archive.address)
    browser.get("/sign-in")
    used = []
    for each in PAGE_OPERATIONS:
        if each.scope is PUBLIC or each.scope in has or (role and not isinstance(each.scope, str)):
            continue
        fields = {"role": "viewer", "state": "inactive", "confirmed": "yes"}
        path = path_of(each)
        answer = browser.get(path) if each.method == "GET" else browser.post(path, fields)
        if not is_refused(answer):
            used.append(str(each))
    return used


@pytest.mark.parametrize("role", ["", "viewer", "depositor", "curator"])
def test_no_page_is_used_without_its_scope(archive: ArchiveServer, role: str) -> None:
    assert used_without_right(archive, role) == []


def test_twin_uses_pages_without_their_scopes(twin: ArchiveServer) -> None:
    assert "POST /admin/accounts" in used_without_right(twin, "viewer")


def called_without_right(archive: ArchiveServer, role: str) -> list[str]:
    """Try all operations that a role may not use; return those that did not refuse."""
    has = SCOPES.included(ROLE_SCOPES[role]) if role else ()
    browser = signed_in(archive, role, f"a-{role}") if role else Browser(archive.address)
    browser.get("/sign-in")
    lacking = [each for each in OPERATIONS if isinstance(each.scope, str) and each.scope not in has]
    assert len(lacking) > 10
    called = []
    for each in lacking:
        path = re.sub(r"{\w+(?::\w+)?}", "x", each.path).removeprefix("/api/v1/")
        if browser.api(each.method, path, {}).status not in {401, 403}:
            called.append(str(each))
    return called


@pytest.mark.parametrize("role", ["", "viewer", "depositor", "curator"])
def test_no_operation_of_the_api_is_used_without_its_scope(
    archive: ArchiveServer, role: str
) -> None:
    assert called_without_right(archive, role) == []


def test_twin_uses_operations_without_their_scopes(twin: ArchiveServer) -> None:
    called = called_without_right(twin, "viewer")
    assert "POST /api/v1/tokens" in called
    assert "POST /api/v1/deposits" in called


# Forged forms.


def forged(archive: ArchiveServer) -> list[str]:
    """Send every form of an administrator as another site would; return those that were taken."""
    earlier = signed_in(archive, "administrator", "chefe")
    victim = signed_in(archive, "administrator", "chefe")
    other = signed_in(archive, "administrator", "outra")
    foreign = {"Origin": "https://evil.example"}
    taken = []
    for each in PAGE_OPERATIONS:
        if each.method != "POST" or each.scope is PUBLIC or each.path == "/sign-out":
            continue
        ways = (
            victim.post(path_of(each), {}, csrf="", **foreign),
            victim.post(path_of(each), {}, csrf=other.csrf, **foreign),
            victim.post(path_of(each), {}, csrf=victim.csrf, **foreign),
            victim.post(path_of(each), {}, csrf=victim.csrf, Origin="null"),
            victim.post(path_of(each), {}, csrf=victim.csrf, Sec_Fetch_Site="cross-site"),
            victim.post(path_of(each), {}, csrf=victim.csrf, Sec_Fetch_Site="same-site"),
            victim.post(path_of(each), {}, csrf="x" * 86),
            # By a page of this site, but for another account, or in an earlier session.
            victim.post(path_of(each), {}, csrf=other.csrf),
            victim.post(path_of(each), {}, csrf=earlier.csrf),
        )
        taken += [str(each) for answer in ways if not is_refused(answer)]
    made = {"role": "administrator"}
    for headers in ({"X-CSRF-Token": ""}, {"X-CSRF-Token": other.csrf}, foreign):
        if victim.api("POST", "invitations", made, **headers).status == 201:
            taken.append("POST /api/v1/invitations")
    return taken


def test_no_forged_form_is_taken(archive: ArchiveServer) -> None:
    assert forged(archive) == []


def test_twin_takes_forged_forms(twin: ArchiveServer) -> None:
    taken = forged(twin)
    assert "POST /account/sessions" in taken
    assert "POST /api/v1/invitations" in taken


def test_a_form_of_an_earlier_session_acts_only_when_it_is_confirmed(
    archive: ArchiveServer,
) -> None:
    browser = signed_in(archive, "viewer", "velha", "Velha")
    old = browser.csrf
    browser.cookies = dict(signed_in(archive, "viewer", "velha").cookies)
    asked = browser.post("/account", {"full_name": "Nova", "mail": ""}, csrf=old)
    assert asked.status == 403
    assert archive.api("GET", "accounts/velha").json()["full_name"] == "Velha"
    assert hidden(asked)["full_name"] == "Nova"
    assert browser.submit(asked, "/account", {}).status == 303
    assert archive.api("GET", "accounts/velha").json()["full_name"] == "Nova"


# Session fixation.


def fixed(archive: ArchiveServer) -> bool:
    """Have a victim sign in with a cookie that the attacker knows; return whether it then works."""
    signed_in(archive, "viewer", "fixa")
    victim, attacker = Browser(archive.address), Browser(archive.address)
    attacker.get("/sign-in")
    victim.cookies = dict(attacker.cookies)
    page = victim.get("/sign-in")
    typed = {"name": "fixa", "password": PASSWORD}
    assert victim.submit(page, "/sign-in", typed).status == 303
    return attacker.get("/account").status == 200


def test_a_known_cookie_gives_no_access_after_the_sign_in(archive: ArchiveServer) -> None:
    assert not fixed(archive)


def test_twin_keeps_the_known_cookie(twin: ArchiveServer) -> None:
    assert fixed(twin)


# Enumeration and spraying.


def answer_to(archive: ArchiveServer, name: str, password: str) -> tuple[int, str]:
    browser = Browser(archive.address)
    typed = {"name": name, "password": password}
    answer = browser.submit(browser.get("/sign-in"), "/sign-in", typed)
    shown = main_part(answer) if answer.status != 303 else ""
    return answer.status, re.sub(r'value="[^"]*"', "", shown)


def test_an_account_is_not_told_from_none(archive: ArchiveServer) -> None:
    signed_in(archive, "viewer", "dora")
    signed_in(archive, "viewer", "off")
    assert archive.api("PATCH", "accounts/off", {"state": "inactive"}).status == 200
    wrong = "a wrong password"
    answers = {answer_to(archive, name, wrong) for name in ("dora", "off", "none")}
    answers.add(answer_to(archive, "off", PASSWORD))
    assert len(answers) == 1
    [(status, _)] = answers
    assert status == 403


def test_twin_tells_an_account_from_none(twin: ArchiveServer) -> None:
    signed_in(twin, "viewer", "dora")
    wrong = "a wrong password"
    assert answer_to(twin, "dora", wrong) != answer_to(twin, "none", wrong)


def spray(archive: ArchiveServer, names: int) -> int:
    """Try one password at many accounts from one network; return how many were checked."""
    statuses = [answer_to(archive, f"name-{i}", "Password12345")[0] for i in range(names)]
    return sum(status == 403 for status in statuses)


def test_spraying_is_limited(tmp_path_factory: pytest.TempPathFactory) -> None:
    # An archive of its own: the network of all tests is the same.
    with attacked(tmp_path_factory.mktemp("sprayed"), SLOWLY) as archive:
        archive.signed_in("viewer", "real")
        assert spray(archive, 32) == 30
        assert answer_to(archive, "real", PASSWORD)[0] == 429
        # The way out, for those who know their password but share the network with the attacker.
        link = archive.api("POST", "accounts/real/reset").json()["link"]
        assert Browser(archive.address).get(link.removeprefix(archive.address)).status == 200


def test_twin_is_sprayed(tmp_path_factory: pytest.TempPathFactory) -> None:
    with attacked(tmp_path_factory.mktemp("unlimited"), UNLIMITED) as archive:
        assert spray(archive, 32) == 32


# Click-jacking, open redirects, scripts in names.


def framed(archive: ArchiveServer) -> list[str]:
    """Return the pages that another site may show in a frame."""
    browser = signed_in(archive, "administrator", "chefe")
    found = []
    for each in PAGE_OPERATIONS:
        if each.method == "GET":
            answer = browser.get(path_of(each))
            policy = answer.headers.get("content-security-policy", "")
            is_page = answer.headers.get("content-type", "").startswith("text/html")
            if is_page and "frame-ancestors 'none'" not in policy:
                found.append(str(each))
    return found


def test_no_page_is_shown_in_a_frame(archive: ArchiveServer) -> None:
    assert framed(archive) == []


def test_twin_is_shown_in_frames(twin: ArchiveServer) -> None:
    assert "GET /account" in framed(twin)


def led_away(archive: ArchiveServer) -> list[str]:
    """Return the addresses elsewhere to which a sign-in leads."""
    signed_in(archive, "viewer", "vai")
    found = []
    for each in ELSEWHERE:
        browser = Browser(archive.address)
        typed = {"name": "vai", "password": PASSWORD, "next": each}
        answer = browser.submit(browser.get("/sign-in"), "/sign-in", typed)
        assert answer.status == 303
        if not re.fullmatch(r"/[a-z][^\\\s]*", answer.headers["location"]):
            found.append(each)
    return found


def test_a_sign_in_leads_nowhere_else(archive: ArchiveServer) -> None:
    assert led_away(archive) == []


def test_twin_leads_elsewhere(twin: ArchiveServer) -> None:
    assert "https://evil.example/" in led_away(twin)


def scripted(archive: ArchiveServer) -> list[str]:
    """Return the pages on which the name of an account is a script."""
    browser = signed_in(archive, "administrator", "mau", f"{SCRIPT} \"'><b>")
    with_agent = Browser(archive.address)
    typed = {"name": "mau", "password": PASSWORD}
    form = with_agent.get("/sign-in")
    assert with_agent.submit(form, "/sign-in", typed, User_Agent=SCRIPT).status == 303
    browser.api("POST", "reservations", {"count": 1, "note": SCRIPT})
    own = {each.path for each in PAGE_OPERATIONS if each.method == "GET" and "{" not in each.path}
    paths = {*own, "/", "/admin/accounts/mau", "/search", "/nothing"} - {"/sign-in/elsewhere"}
    pages = ((each, browser.get(each).body.decode()) for each in sorted(paths))
    return [path for path, page in pages if SCRIPT in page]


def test_no_name_is_a_script(archive: ArchiveServer) -> None:
    assert scripted(archive) == []


def test_twin_has_scripts_as_names(twin: ArchiveServer) -> None:
    assert {"/account", "/admin/accounts", "/admin/audit-log"} <= set(scripted(twin))
