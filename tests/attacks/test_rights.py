"""Threats, row 29: depositors who change what others deposited, by pages and by the API.

The tables of operations say what there is to try: an operation that a depositor may use is either
tried here on the things of another account, or named as one that concerns none. The twin is the
same archive without the check of ownership.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pytest

from ibi.archive.rules.scopes import DEPOSIT
from ibi.archive.web.api.operations import OPERATIONS
from ibi.archive.web.page_operations import PAGE_OPERATIONS
from tests.support.clients.browser import Browser
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.attacked_archive import attacked

WITHOUT_RIGHTS: Final = """
from ibi.archive.drafts.drafts import Drafts
from ibi.archive.rules import scopes

scopes.Caller.is_limited = property(lambda self: False)
get = Drafts.get
Drafts.get = lambda self, id, owner: get(self, id, self._drafts.get(id).owner)
"""

RECORD: Final = {"titles": ["Taken"]}
FIELDS: Final = [["title", "Hers"], ["creator", "A, B"], ["year", "2026"], ["type", "Dataset"]]

NOBODYS: Final = frozenset(
    {
        "POST /api/v1/metadata-readings",
        "POST /api/v1/reservations",
        "GET /deposit",
        "POST /deposit",
        "GET /deposit/items",
    }
)
"""Operations that concern nothing of others: what they change or list is new, or their own."""


@dataclass(frozen=True)
class Things:
    """What another depositor has."""

    item: str
    deposit: str
    draft: str
    label: str
    collection: str
    own: str
    """An item of the attacker."""


def api_attacks(all_: Things) -> Mapping[str, list[tuple[str, object]]]:
    """Return paths and bodies by which an operation is tried on the things of others."""
    deposit, draft = f"deposits/{all_.deposit}", f"drafts/{all_.draft}"
    purposes = [{each: all_.item} for each in ("item", "edition_of", "translation_of")]
    wanted: list[object] = [{"item": all_.item}, {"metadata": RECORD, "label": all_.label}]
    wanted += [{"metadata": RECORD, "edition_of": all_.item}]
    wanted += [{"metadata": RECORD, "language": "pt", "translation_of": all_.item}]
    members = [{"add": [all_.item]}, {"remove": [all_.item]}]
    item = f"items/{all_.item}"
    return {
        "PUT /api/v1/items/{ibi}/metadata": [(f"{item}/metadata", RECORD)],
        "PATCH /api/v1/items/{ibi}": [
            (item, {"list_public": False}),
            (item, {"texts": {"": {"title": "Taken"}}}),
            (f"items/{all_.own}", {"previous_edition": all_.item}),
            (f"items/{all_.own}", {"translations": {"pt": all_.item}}),
        ],
        "PATCH /api/v1/collections/{ibi}": [
            (f"collections/{all_.collection}", each) for each in members
        ],
        "POST /api/v1/deposits": [("deposits", each) for each in wanted],
        "GET /api/v1/deposits/{id}": [(deposit, None)],
        "PUT /api/v1/deposits/{id}/files/{path}": [(f"{deposit}/files/a", b"1")],
        "PATCH /api/v1/deposits/{id}/files/{path}": [(f"{deposit}/files/a", b"1")],
        "GET /api/v1/deposits/{id}/files/{path}": [(f"{deposit}/files/kept", None)],
        "DELETE /api/v1/deposits/{id}/files/{path}": [(f"{deposit}/files/kept", None)],
        "POST /api/v1/deposits/{id}/unpacking": [(f"{deposit}/unpacking", {"path": "kept"})],
        "POST /api/v1/deposits/{id}/completion": [(f"{deposit}/completion", None)],
        "DELETE /api/v1/deposits/{id}": [(deposit, None)],
        "GET /api/v1/drafts": [],  # looked at below
        "POST /api/v1/drafts": [("drafts", each) for each in purposes],
        "GET /api/v1/drafts/{id}": [(draft, None)],
        "PUT /api/v1/drafts/{id}": [(draft, {"version": 0, "fields": []})],
        "POST /api/v1/drafts/{id}/submission": [(f"{draft}/submission", None)],
        "DELETE /api/v1/drafts/{id}/submission": [(f"{draft}/submission", None)],
        "GET /api/v1/drafts/{id}/files": [(f"{draft}/files", None)],
        "PUT /api/v1/drafts/{id}/files/{path}": [(f"{draft}/files/a", b"1")],
        "PATCH /api/v1/drafts/{id}/files/{path}": [(f"{draft}/files/a", b"1")],
        "GET /api/v1/drafts/{id}/files/{path}": [(f"{draft}/files/kept", None)],
        "DELETE /api/v1/drafts/{id}/files/{path}": [(f"{draft}/files/kept", None)],
        "POST /api/v1/drafts/{id}/unpacking": [(f"{draft}/unpacking", {"path": "kept"})],
        "POST /api/v1/drafts/{id}/publication": [(f"{draft}/publication", None)],
        "DELETE /api/v1/drafts/{id}": [(draft, None)],
    }


ACTS: Final = ("edition", "translation", "files", "collection", "readers", "delete", "transfer")


def page_paths(operation_path: str, all_: Things) -> list[str]:
    """Return the paths of a page for the things of others."""
    path = operation_path.replace("{draft}", all_.draft).replace("{ibi:path}", all_.item)
    return [path.replace("{act}", act) for act in ACTS] if "{act}" in path else [path]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArchiveServer]:
    """Run an archive as it is shipped."""
    with attacked(tmp_path_factory.mktemp("guarded")) as server:
        yield server


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArchiveServer]:
    """Run an archive that does not check who deposited what."""
    with attacked(tmp_path_factory.mktemp("twin"), WITHOUT_RIGHTS) as server:
        yield server


def taken(browser: Browser, method: str, path: str, body: object = None) -> dict[str, Any]:
    """Use the API by a session, which must succeed."""
    answer = browser.api(method, path, body)
    assert answer.status < 300, (method, path, answer.body)
    found: dict[str, Any] = answer.json() if answer.body else {}
    return found


def token_of(browser: Browser) -> str:
    """Make a token of a person, with the scope `deposit`."""
    page = browser.post("/account/tokens", {"token": "script", "scope": "deposit", "days": "30"})
    found = re.search(r"ibi_[\w-]{43}", page.body.decode())
    assert found, page.body
    return found[0]


def deposited(browser: Browser, **wanted: object) -> str:
    """Deposit an item by a session; return its label."""
    opened = taken(browser, "POST", "deposits", {"metadata": {"titles": ["Hers"]}, **wanted})
    taken(browser, "PUT", f"deposits/{opened['id']}/files/kept", b"1")
    return str(taken(browser, "POST", f"deposits/{opened['id']}/completion")["ibip"])


def things(archive: ArchiveServer, ana: Browser, eve: Browser) -> Things:
    """Have a person deposit, begin a deposit and a draft, and reserve a label."""
    deposit = taken(ana, "POST", "deposits", {"metadata": {"titles": ["Hers"]}})["id"]
    taken(ana, "PUT", f"deposits/{deposit}/files/kept", b"1")
    draft = taken(ana, "POST", "drafts", {"fields": FIELDS})["id"]
    taken(ana, "PUT", f"drafts/{draft}/files/kept", b"1")
    [reserved] = taken(ana, "POST", "reservations", {"count": 1})["labels"]
    collection = {"titles": ["All"], "types": ["Collection"]}
    made = archive.deposit(metadata=collection)["ibip"]
    return Things(
        item=deposited(ana, language="en"),
        deposit=deposit,
        draft=draft,
        label=reserved["ibip"],
        collection=made,
        own=deposited(eve, language="en"),
    )


def attack(archive: ArchiveServer, all_: Things, eve: Browser, token: str) -> list[str]:
    """Try all that depositors may do on the things of another one; return what succeeds."""
    done = []
    attacks = api_attacks(all_)
    for each in OPERATIONS:
        for path, body in attacks.get(str(each), []) if each.scope == DEPOSIT else []:
            by_session = eve.api(each.method, path, body)
            by_token = archive.api(each.method, path, body, token=token)
            if by_session.status < 400 or by_token.status < 400:
                done.append(str(each))
    for page in PAGE_OPERATIONS:
        if page.scope == DEPOSIT and str(page) not in NOBODYS:
            for path in page_paths(page.path, all_):
                form = {"reason": "mine", "collection": all_.collection, "key": "0" * 32}
                answer = (
                    eve.get(path)
                    if page.method == "GET"
                    else eve.post(f"{path}?csrf={eve.csrf}", form)
                )
                if answer.status < 400:
                    done.append(f"{page} {path}")
    return done


def seen(archive: ArchiveServer, ana: Browser, all_: Things) -> list[object]:
    """Return what the first person has, to see that nothing changed."""
    kept = [f"deposits/{all_.deposit}", f"drafts/{all_.draft}", f"drafts/{all_.draft}/files"]
    return [archive.item(all_.item), *(taken(ana, "GET", each) for each in kept)]


def attacked_by_eve(archive: ArchiveServer) -> tuple[list[str], bool]:
    """Return what succeeds on the things of another depositor, and whether these changed."""
    ana, eve = archive.signed_in("depositor", "ana"), archive.signed_in("depositor", "eve")
    token = token_of(eve)
    all_ = things(archive, ana, eve)
    before = seen(archive, ana, all_)
    done = attack(archive, all_, eve, token)
    listed = [eve.api("GET", "drafts").json(), archive.api("GET", "drafts", token=token).json()]
    assert all_.draft not in str(listed)
    try:
        return done, seen(archive, ana, all_) != before
    except AssertionError:
        return done, True


def test_every_operation_of_depositors_is_tried() -> None:
    nothing = Things("", "", "", "", "", "")
    known = {*api_attacks(nothing), *NOBODYS}
    assert {str(each) for each in OPERATIONS if each.scope == DEPOSIT} <= known


def test_nothing_of_another_depositor_is_changed_or_seen(archive: ArchiveServer) -> None:
    assert attacked_by_eve(archive) == ([], False)


def test_twin_changes_what_others_deposited(twin: ArchiveServer) -> None:
    done, is_changed = attacked_by_eve(twin)
    assert is_changed
    assert {each.partition(" /deposit")[0] for each in done} > {
        "PUT /api/v1/items/{ibi}/metadata",
        "PATCH /api/v1/items/{ibi}",
        "PATCH /api/v1/collections/{ibi}",
        "POST /api/v1/deposits",
        "GET /api/v1/deposits/{id}",
        "DELETE /api/v1/deposits/{id}",
        "POST /api/v1/drafts",
        "PUT /api/v1/drafts/{id}",
    }


def test_the_roles_have_the_same_rights_by_the_api_and_by_pages(archive: ArchiveServer) -> None:
    own, curator = archive.signed_in("depositor", "iva"), archive.signed_in("curator", "cora")
    label, other = deposited(own), deposited(own)
    # A depositor changes what is its own, but deletes nothing.
    taken(own, "PATCH", f"items/{label}", {"list_public": False})
    taken(own, "POST", "drafts", {"item": label})
    taken(own, "POST", "deposits", {"item": label})
    assert own.get(f"/deposit/describe/{label}").status == 200
    reason = {"reason": "withdrawn by its author"}
    assert own.api("POST", f"items/{label}/deletion", reason).status == 403
    assert own.post(f"/deposit/act/delete/{label}", reason).status == 403
    # A curator changes what others deposited, and deletes it; it transfers nothing.
    taken(curator, "PATCH", f"items/{label}", {"list_public": True})
    taken(curator, "POST", "drafts", {"edition_of": label})
    assert "/deposit/act/delete/" in curator.get(f"/deposit/item/{label}").body.decode()
    assert curator.get(f"/deposit/act/transfer/{label}").status == 403
    taken(curator, "POST", f"items/{label}/deletion", reason)
    assert curator.post(f"/deposit/act/delete/{other}", reason).status == 303
    assert archive.item(other)["state"] == "Deleted"
    # A token of a curator with a lower scope has no more rights than this scope.
    kept = deposited(own)
    amended, low = {"list_public": False}, token_of(curator)
    assert archive.api("PATCH", f"items/{kept}", amended, token=low).status == 403
    # A token that an operator made has no account: its scope decides, as ever.
    program = archive.add_token("program", "deposit")
    assert archive.api("PATCH", f"items/{kept}", amended, token=program).status == 200
