"""Messages to people with accounts, sent to a real mail server, in their language."""

from __future__ import annotations

import re
from collections.abc import Iterator
from email.message import EmailMessage

import pytest

from tests.archive.drafts.test_draft_pages_http import WHOLE, new_draft, save, upload
from tests.support.clients.browser import PASSWORD, Browser
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.mail import MailServer, message_in
from tests.support.waiting import wait_until

PORTUGUESE = {"Accept-Language": "pt-BR"}
NEW_PASSWORD = "another battery staple of a horse"  # noqa: S105  # of a test


@pytest.fixture(scope="module")
def inbox() -> Iterator[MailServer]:
    """Run a mail server."""
    with MailServer() as server:
        yield server


@pytest.fixture(scope="module")
def archive(inbox: MailServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArchiveServer]:
    """Run an archive with review, whose messages are in Portuguese."""
    made = ArchiveServer(tmp_path_factory.mktemp("mails"))
    place = f"127.0.0.1:{inbox.port}"
    made.set(smtp=place, mail_from="arquivo@example.org", mail_language="pt", review=True)
    with made as started:
        yield started


def next_mail(inbox: MailServer, count: int) -> tuple[EmailMessage, str, list[str]]:
    """Return the next message after so many: its head, its text, and where it went."""
    wait_until(lambda: len(inbox.envelopes) > count)
    envelope = inbox.envelopes[count]
    message = message_in(envelope)
    return message, message.get_content(), [str(each) for each in envelope.rcpt_tos]


def person(archive: ArchiveServer, role: str, name: str) -> Browser:
    """Return a person whose account has an address."""
    browser = archive.signed_in(role, name)
    typed = {"full_name": name.title(), "mail": f"{name}@example.org", "current-for-mail": PASSWORD}
    assert browser.submit(browser.get("/account"), "/account", typed).status == 303
    return browser


def test_an_invitation_is_sent_and_works_once(archive: ArchiveServer, inbox: MailServer) -> None:
    chief = archive.signed_in("administrator", "chefe")
    count = len(inbox.envelopes)
    typed = {"role": "depositor", "mail": "rosa@example.org"}
    page = chief.get("/admin/accounts", **PORTUGUESE)
    sent = chief.submit(page, "/admin/accounts", typed, **PORTUGUESE)
    assert sent.status == 201, sent.body
    message, text, to = next_mail(inbox, count)
    assert (to, message["From"]) == (["rosa@example.org"], "arquivo@example.org")
    assert message["Subject"] == "Sua conta em Arquivo de prova"
    [link] = re.findall(r"http\S+", text)
    rosa, path = Browser(archive.address), link.removeprefix(archive.address)
    names = {"name": "rosa", "full_name": "Rosa"}
    passwords = {"password": PASSWORD, "repeated": PASSWORD}
    assert rosa.submit(rosa.get(path), path, {**names, **passwords}).status == 303
    assert Browser(archive.address).get(path).status in {404, 410}


def test_a_password_is_set_anew_by_mail(archive: ArchiveServer, inbox: MailServer) -> None:
    person(archive, "viewer", "vera")
    count, forgetful = len(inbox.envelopes), Browser(archive.address)
    for mail in ("unknown@example.org", "vera@example.org"):  # both get the same answer
        page = forgetful.get("/password", **PORTUGUESE)
        asked = forgetful.submit(page, "/password", {"mail": mail}, **PORTUGUESE)
        assert asked.status == 200, asked.body
    message, text, to = next_mail(inbox, count)
    assert to == ["vera@example.org"]
    assert message["Subject"] == "Nova senha em Arquivo de prova"
    [link] = re.findall(r"http\S+", text)
    path = link.removeprefix(archive.address)
    passwords = {"password": NEW_PASSWORD, "repeated": NEW_PASSWORD}
    assert forgetful.submit(forgetful.get(path), path, passwords).status == 303
    for password, status in ((PASSWORD, 403), (NEW_PASSWORD, 303)):
        again = Browser(archive.address)
        typed = {"name": "vera", "password": password}
        assert again.submit(again.get("/sign-in"), "/sign-in", typed).status == status


def test_a_review_is_told_by_mail(archive: ArchiveServer, inbox: MailServer) -> None:
    ana, carla = person(archive, "depositor", "ana"), person(archive, "curator", "carla")
    count, place = len(inbox.envelopes), new_draft(ana)
    id_ = place.rpartition("/")[2]
    upload(ana, place, ("a.csv", b"1"))
    save(ana, place, {**WHOLE, "title": "Umidade do solo"})
    ana.submit(ana.get(f"{place}/publish"), f"{place}/publish", {})
    message, text, to = next_mail(inbox, count)
    assert to == ["carla@example.org"]
    assert message["Subject"] == "Um rascunho espera por revisão: Umidade do solo"
    assert f"{archive.address}/curate/{id_}" in text
    page = carla.get(f"/curate/{id_}")
    carla.submit(page, f"/curate/{id_}/return", {"comment": "Diga onde."})
    message, text, to = next_mail(inbox, count + 1)
    assert to == ["ana@example.org"]
    assert message["Subject"].startswith("Um rascunho foi devolvido: ")
    assert "devolveu o seu rascunho com este comentário:\n\nDiga onde." in text.replace("\r", "")
    ana.submit(ana.get(f"{place}/publish"), f"{place}/publish", {})
    next_mail(inbox, count + 2)
    carla.submit(carla.get(f"/curate/{id_}"), f"/curate/{id_}/publish", {})
    message, text, to = next_mail(inbox, count + 3)
    assert (to, message["Subject"][:26]) == (["ana@example.org"], "Um rascunho foi publicado:")
    assert f"{archive.address}/deposit/{id_}" in text
