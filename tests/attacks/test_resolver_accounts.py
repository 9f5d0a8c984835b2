"""Threats, row 29, at a resolver: roles that do more than they may, and forged forms.

Every page and operation is tried as every role that may not use it, and every form as another site,
another account or an earlier session sends it.
The twin is a resolver that checks neither scopes nor the origin of forms.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from ibi.foundation.web.authorization import PUBLIC
from ibi.resolver.rules.scopes import ROLE_SCOPES, SCOPES
from ibi.resolver.web.operations import OPERATIONS
from ibi.resolver.web.page_operations import PAGE_OPERATIONS
from tests.support.clients.browser import PASSWORD, Browser
from tests.support.clients.http import Answer
from tests.support.servers.attacked_resolver import attacked
from tests.support.servers.resolver import ResolverServer

WITHOUT_GUARDS: Final = """
from ibi.foundation.web import authorization, page_operations
from ibi.foundation.web.form_tokens import Origins

Origins.is_foreign = lambda self, request: False
page_operations.is_form_token = lambda secret, token: True
page_operations._check_scope = lambda operation, visitor: None

def authorized(self, visitor, request, scope):
    return visitor.actor

authorization.Authorizer._authorize_visitor = authorized
"""
_PARAMETER: Final = re.compile(r"{\w+(?::\w+)?}")


def is_refused(answer: Answer) -> bool:
    leads_to_sign_in = answer.headers.get("location", "").startswith("/sign-in?next=")
    return answer.status in {401, 403} or leads_to_sign_in


def used_without_right(resolver: ResolverServer, role: str) -> list[str]:
    """Try all pages and operations that a role may not use; return those that did not refuse."""
    has = SCOPES.included(ROLE_SCOPES[role]) if role else ()
    browser = resolver.signed_in(role, f"a-{role}") if role else Browser(resolver.address)
    browser.get("/sign-in")
    used = []
    for page in PAGE_OPERATIONS:
        if page.scope is PUBLIC or page.scope in has or (role and not isinstance(page.scope, str)):
            continue
        path = _PARAMETER.sub("x", page.path)
        answer = browser.get(path) if page.method == "GET" else browser.post(path, {"x": "y"})
        used += [] if is_refused(answer) else [str(page)]
    for each in OPERATIONS:
        if isinstance(each.scope, str) and each.scope not in has:
            path = _PARAMETER.sub("x", each.path).removeprefix("/api/v1/")
            answer = browser.api(each.method, path, {})
            used += [] if answer.status in {401, 403} else [str(each)]
    return used


def forged(resolver: ResolverServer) -> list[str]:
    """Send every form of an operator as others would; return those that were taken."""
    earlier = resolver.signed_in("administrator", "chefe")
    victim = Browser(resolver.address)
    typed = {"name": "chefe", "password": PASSWORD}
    assert victim.submit(victim.get("/sign-in"), "/sign-in", typed).status == 303
    other = resolver.signed_in("administrator", "outra")
    taken = []
    for page in PAGE_OPERATIONS:
        if page.method != "POST" or page.scope is PUBLIC or page.path == "/sign-out":
            continue
        path = _PARAMETER.sub("x", page.path)
        ways = (
            victim.post(path, {}, csrf=""),
            victim.post(path, {}, csrf=other.csrf),
            victim.post(path, {}, csrf=earlier.csrf),
            victim.post(path, {}, csrf=victim.csrf, Origin="https://evil.example"),
            victim.post(path, {}, csrf=victim.csrf, Sec_Fetch_Site="same-site"),
        )
        taken += [str(page) for answer in ways if not is_refused(answer)]
    return taken


@pytest.mark.parametrize("without", ["", WITHOUT_GUARDS], ids=["guarded", "twin"])
def test_no_role_does_more_than_it_may_and_no_form_is_forged(tmp_path: Path, without: str) -> None:
    with attacked(tmp_path, without) as resolver:
        used = [each for role in ("viewer", "") for each in used_without_right(resolver, role)]
        taken = forged(resolver)
    if without:
        assert {"POST /api/v1/tokens", "POST /admin/registrations"} <= set(used)
        assert "POST /account/sessions" in taken
    else:
        assert (used, taken) == ([], [])
