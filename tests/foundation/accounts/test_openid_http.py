"""People sign in at a real OpenID provider; answers that it did not give are refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import pytest
from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

from ibi.errors import OpenIdError
from ibi.foundation.accounts.openid import OpenIdProvider
from ibi.foundation.accounts.openid_settings import OpenIdSettings
from tests.support.clients.browser import Browser, main_part
from tests.support.doubles.minting_machine import FakeClock
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.openid import OpenIdServer, openid_server, path_of

pytestmark = pytest.mark.http


@pytest.fixture(scope="module")
def provider() -> Iterator[OpenIdServer]:
    with openid_server() as server:
        yield server


@pytest.fixture(scope="module")
def archive(
    tmp_path_factory: pytest.TempPathFactory, provider: OpenIdServer
) -> Iterator[ArchiveServer]:
    """Serve an archive that people of one domain may join."""
    server = ArchiveServer(tmp_path_factory.mktemp("openid"))
    (server.data / "secret").write_text("a secret\n", "utf-8")
    server.set(
        openid_issuer=provider.address,
        openid_client="the-archive",
        openid_secret_file="secret",  # noqa: S106  # the name of a file
        openid_name="The university",
        openid_join="example.org",
        openid_role="depositor",
    )
    with server:
        yield server


def way_back(provider: OpenIdServer, browser: Browser, who: str) -> str:
    browser.get("/sign-in")
    left = browser.get("/sign-in/elsewhere?next=/search")
    assert left.status == 303, left.body
    return path_of(provider.sign_in(left.headers["location"], who))


def test_a_person_of_the_domain_joins_and_comes_again(
    archive: ArchiveServer, provider: OpenIdServer
) -> None:
    person = {"email": "ana@example.org", "email_verified": True, "name": "Ana Lima"}
    provider.describe("ana-1", **person)
    for _ in range(2):
        browser = Browser(archive.address)
        assert "The university" in main_part(browser.get("/sign-in"))
        back = browser.get(way_back(provider, browser, "ana-1"))
        assert (back.status, back.headers["location"]) == (303, "/search")
        assert "Ana Lima" in browser.get("/account").body.decode()
    found = archive.api("GET", "accounts/ana").json()
    assert (found["role"], found["mail"]) == ("depositor", "ana@example.org")


@pytest.mark.parametrize(
    "claims",
    [
        {"email": "eva@evil.example", "email_verified": True},
        {"email": "eva@example.org", "email_verified": False},
        {"email": "eva@example.org"},
        {"email": "eva@example.org.evil.example", "email_verified": True},
    ],
)
def test_others_do_not_join(
    archive: ArchiveServer, provider: OpenIdServer, claims: dict[str, object]
) -> None:
    provider.describe("eva-1", **claims)
    browser = Browser(archive.address)
    back = browser.get(way_back(provider, browser, "eva-1"))
    assert back.status == 403
    assert "You have no account here yet" in main_part(back)
    assert browser.get("/account").status == 303


def test_an_account_is_connected_by_its_owner(
    archive: ArchiveServer, provider: OpenIdServer
) -> None:
    owner = archive.signed_in("curator", "rui")
    left = owner.get("/sign-in/elsewhere")
    back = owner.get(path_of(provider.sign_in(left.headers["location"], "rui-1")))
    assert back.status == 303, back.body
    again = Browser(archive.address)
    assert again.get(way_back(provider, again, "rui-1")).status == 303
    assert "@rui" in main_part(again.get("/account"))


def changed(path: str, **pairs: str) -> str:
    parts = urlsplit(path)
    query = {**dict(parse_qsl(parts.query)), **pairs}
    return urlunsplit(parts._replace(query=urlencode(query)))


def test_a_way_back_of_another_browser_or_state_is_refused(
    archive: ArchiveServer, provider: OpenIdServer
) -> None:
    provider.describe("ana-1", email="ana@example.org", email_verified=True)
    attacker, victim = Browser(archive.address), Browser(archive.address)
    path = way_back(provider, attacker, "ana-1")
    victim.get("/sign-in")
    for each in (path, changed(path, state="x"), changed(path, state="")):
        assert victim.get(each).status == 403
        assert victim.get("/account").status == 303
    assert attacker.get(changed(path, code="x")).status == 403
    # The nonce of one way does not fit the code of another one.
    other = way_back(provider, attacker, "ana-1")
    state = dict(parse_qsl(urlsplit(other).query))["state"]
    assert attacker.get(changed(path, state=state)).status == 403


def test_a_code_is_used_once(archive: ArchiveServer, provider: OpenIdServer) -> None:
    provider.describe("ana-1", email="ana@example.org", email_verified=True)
    browser = Browser(archive.address)
    path = way_back(provider, browser, "ana-1")
    cookies = dict(browser.cookies)
    assert browser.get(path).status == 303
    browser.cookies = cookies
    assert browser.get(path).status == 403


KEY = RSAKey.generate_key(2048, {"kid": "one"})
NOW = FakeClock().wall() // 10**9
GOOD: dict[str, Any] = {
    "iss": "https://id.example.org",
    "aud": "client",
    "sub": "ana",
    "nonce": "the nonce",
    "iat": NOW,
    "exp": NOW + 600,
}
BAD: dict[str, dict[str, object]] = {
    "nonce": {"nonce": "another"},
    "no nonce": {"nonce": None},
    "issuer": {"iss": "https://evil.example"},
    "audience": {"aud": "another"},
    "other party": {"azp": "another"},
    "expired": {"exp": NOW - 600},
    "not yet": {"iat": NOW + 6000},
    "no end": {"exp": None},
}


def checked(token: str) -> dict[str, Any]:
    settings = OpenIdSettings(issuer="https://id.example.org", client="client", secret="", name="x")
    provider = OpenIdProvider(settings, "https://archive.example.org/back", FakeClock())
    return provider.checked(token, "the nonce", KeySet([KEY]))


def token_of(claims: dict[str, Any], key: RSAKey = KEY) -> str:
    kept = {name: value for name, value in claims.items() if value is not None}
    return jwt.encode({"alg": "RS256", "kid": "one"}, kept, key)


def test_a_good_token_is_taken() -> None:
    assert checked(token_of(GOOD))["sub"] == "ana"


@pytest.mark.parametrize("what", BAD)
def test_a_bad_token_is_refused(what: str) -> None:
    with pytest.raises(OpenIdError):
        checked(token_of({**GOOD, **BAD[what]}))


def test_a_token_of_other_keys_or_without_signature_is_refused() -> None:
    other = RSAKey.generate_key(2048, {"kid": "one"})
    head, body, _ = token_of(GOOD).split(".")
    for each in (token_of(GOOD, other), f"{head}.{body}.", "", json.dumps(GOOD)):
        with pytest.raises(OpenIdError):
            checked(each)
