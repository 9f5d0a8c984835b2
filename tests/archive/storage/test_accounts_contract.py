"""Accounts, sessions, links and limits are stored the same on SQLite and PostgreSQL."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from ibi.archive.ports.catalogue import Catalogue
from ibi.errors import FieldError, LastAdministratorError, NoAccountError
from ibi.model.account import (
    ADMINISTRATOR,
    INACTIVE,
    INVITATION,
    VIEWER,
    Account,
    AccountLink,
    GuessLimit,
    Session,
)


def account(name: str, role: str = VIEWER, mail: str = "", subject: str = "") -> Account:
    return Account(
        name=name, full_name=name, role=role, mail=mail, subject=subject, created=1, changed=1
    )


def link(digest: str) -> AccountLink:
    return AccountLink(
        digest=digest, kind=INVITATION, role=VIEWER, made_by="@x", created=1, expires=9
    )


def test_names_addresses_and_subjects_are_given_once(catalogue: Catalogue) -> None:
    store = catalogue.accounts
    assert store.add(account("ana", mail="Ana@example.org", subject="i 1"))
    assert not store.add(account("ana"))
    assert not store.add(account("eva", mail="ana@EXAMPLE.org"))
    assert not store.add(account("eva", subject="i 1"))
    assert store.add(account("eva"))
    assert store.add(account("b-a"))
    assert [each.name for each in store.page("", 2)] == ["ana", "b-a"]
    assert [each.name for each in store.page("b-a", 9)] == ["eva"]
    assert store.find(mail="ANA@example.org") == store.find(subject="i 1") == store.get("ana")
    with pytest.raises(FieldError):
        store.change("eva", lambda each: replace(each, mail="ana@example.org"))
    assert store.get("\0") is None


def test_a_link_is_used_once(catalogue: Catalogue) -> None:
    store = catalogue.accounts
    store.add_link(link("one"))
    assert store.link("one") == link("one")
    assert store.add(account("ana"), "one")
    with pytest.raises(NoAccountError):
        store.add(account("eva"), "one")
    assert store.get("eva") is None
    assert store.links() == []


def test_of_two_administrators_only_one_steps_down(catalogue: Catalogue) -> None:
    store = catalogue.accounts
    for name in ("ana", "eva"):
        store.add(account(name, ADMINISTRATOR))

    def step_down(name: str) -> bool:
        try:
            store.change(name, lambda each: replace(each, role=VIEWER))
        except LastAdministratorError:
            return False
        return True

    with ThreadPoolExecutor(2) as threads:
        assert sorted(threads.map(step_down, ("ana", "eva"))) == [False, True]
    assert store.has_administrator()


def test_sessions_end_with_their_account(catalogue: Catalogue) -> None:
    store = catalogue.accounts
    store.add(account("ana"))
    store.add_session(Session("one", "ana", 1, 1, "Firefox"))
    store.add_session(Session("two", "ana", 1, 2, ""), "none")
    store.touch("one", 5)
    assert [each.digest for each in store.sessions("ana")] == ["one", "two"]
    found = store.session("one")
    assert found is not None
    assert found[0].seen == 5
    assert not store.end_session("one", "eva")
    assert store.end_sessions("ana", "one") == 1
    store.change("ana", lambda each: replace(each, state=INACTIVE))
    assert store.session("one") is None


def test_a_limit_admits_some_at_once_and_then_one_after_each_interval(
    catalogue: Catalogue,
) -> None:
    store = catalogue.accounts
    limits = (GuessLimit("a", 3, 10), GuessLimit("b", 5, 1000))
    assert [store.charge(limits, 100) for _ in range(4)] == [0, 0, 0, 10]
    assert store.charge(limits, 109) == 1
    assert store.charge(limits, 110) == 0
    store.refund(limits)
    assert store.charge(limits, 110) == 0
    assert store.charge(limits[1:], 111) == 0
    assert store.charge(limits[1:], 111) == 989
    store.forget("b")
    assert store.charge(limits[1:], 111) == 0
    store.purge(10**9, 0, 0)
    assert store.charge(limits, 112) == 0


def test_guesses_at_the_same_time_are_all_counted(catalogue: Catalogue) -> None:
    store = catalogue.accounts
    limits = (GuessLimit("a", 7, 1000), GuessLimit("b", 9, 1000))
    with ThreadPoolExecutor(4) as threads:
        waits = list(threads.map(lambda _: store.charge(limits, 100), range(20)))
    assert sum(wait == 0 for wait in waits) == 7
