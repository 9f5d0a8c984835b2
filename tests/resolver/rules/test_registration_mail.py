"""The e-mail that registers an archive, as people and their programs write it."""

from __future__ import annotations

import pytest

from ibi import parse
from ibi.errors import ResolverRequestError
from ibi.model.archive_record import RegistrationKey
from ibi.resolver.rules.registration_mail import (
    MailedRegistration,
    confirmation,
    pending_notice,
    read,
)
from ibi.wire.addresses import is_mail_address

SUBJECT = "Cadastro de um novo Arquivo"
SENDER = "banon@dpi.inpe.br"
SERVICE = "dpi.inpe.br/banon/1999/01.09.22.14"
KEY = "9876543210"
TEXT = f"archiveserviceibi = {SERVICE}\nregistrationkey = {KEY}\n"
REGISTRATION = MailedRegistration(parse(SERVICE), RegistrationKey(KEY), SENDER)


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        TEXT.replace("\n", "\r\n"),
        TEXT.replace("\n", "   \t\n"),
        TEXT.replace("\n", "\n\n\n"),
        TEXT.replace(" = ", "="),
        TEXT.replace(" = ", "\xa0=\xa0"),
        TEXT.replace("archiveserviceibi", "ArchiveServiceIBI").replace("reg", "REG"),
        "".join(reversed(TEXT.splitlines(keepends=True))),
        "> " + TEXT.replace("\n", "\n> "),
        ">>" + TEXT.replace("\n", "\n > > "),
        f"Prezados,\n\nIBI do serviço:\n{TEXT}colour = blue\n=\n= x\n-- \nA. Person\n",
        TEXT + TEXT,
        TEXT + f"\nOn Monday somebody wrote:\n> registrationkey = 1111111111\n> {TEXT}",
        f"archiveserviceibi = http://urlib.net/{SERVICE}\nregistrationkey = {KEY}",
    ],
)
def test_what_is_meant_is_read(text: str) -> None:
    assert read(SUBJECT, SENDER, text) == REGISTRATION


@pytest.mark.parametrize(
    "subject",
    [
        "CADASTRO DE UM NOVO ARQUIVO",
        "  Cadastro  de um novo\tArquivo. ",
        "Re: Cadastro de um novo Arquivo",
        "RES: ENC: Fwd:Cadastro de um novo Arquivo",
        "Registration of a new archive",
    ],
)
def test_subjects_that_are_meant(subject: str) -> None:
    assert read(subject, SENDER, TEXT) == REGISTRATION


@pytest.mark.parametrize("subject", ["", "Hello", "Cadastro", f"No {SUBJECT}", "Re:" * 100_000])
def test_another_subject_registers_nothing(subject: str) -> None:
    with pytest.raises(ResolverRequestError, match=SUBJECT):
        read(subject, SENDER, TEXT)


def test_the_name_of_a_sender_is_left_out() -> None:
    assert read(SUBJECT, f'"Banon, G." <{SENDER}>', TEXT) == REGISTRATION


@pytest.mark.parametrize(
    "sender", ["", "banon", "@dpi.inpe.br", "a b@dpi.inpe.br", f"{SENDER}\r\nBcc: x@y.org", "<>"]
)
def test_who_cannot_be_answered_registers_nothing(sender: str) -> None:
    with pytest.raises(ResolverRequestError, match=r"name@example\.org"):
        read(SUBJECT, sender, TEXT)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", r"does not say its archiveserviceibi: .* archiveserviceibi = dpi\.inpe\.br"),
        (f"registrationkey = {KEY}", r"does not say its archiveserviceibi"),
        (f"archiveserviceibi = {SERVICE}", r"does not say its registrationkey: .* ten or more"),
        (f"{TEXT}registrationkey = {KEY}0", r"more than one registrationkey"),
        (f"{TEXT}archiveserviceibi = {SERVICE}.01", r"more than one archiveserviceibi"),
        (f"archiveserviceibi = \nregistrationkey = {KEY}", r"archiveserviceibi .* is no label"),
        (TEXT.replace(KEY, KEY[:9]), r"registrationkey .* is no key: .* ten or more digits"),
        (TEXT.replace(KEY, f"{KEY} ["), r"registrationkey .* is no key"),
        (TEXT.replace(KEY, ""), r"registrationkey .* is no key"),
        (
            f"archiveserviceibi = x/{KEY} registrationkey = {KEY}\nregistrationkey = {KEY}",
            "is no label",
        ),
        (f"registration key: {KEY}\narchiveserviceibi = {SERVICE}", "does not say"),
    ],
)
def test_what_is_wrong_is_told_in_one_sentence_without_the_key(text: str, complaint: str) -> None:
    with pytest.raises(ResolverRequestError, match=complaint) as caught:
        read(SUBJECT, SENDER, text)
    told = str(caught.value)
    assert told.isprintable()
    assert KEY[:9] not in told
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_the_key_does_not_show() -> None:
    assert KEY not in repr(read(SUBJECT, SENDER, TEXT))


@pytest.mark.parametrize("write", [confirmation, pending_notice])
def test_answers_are_in_both_languages(write: type) -> None:
    subject, text = write(parse(SERVICE), "http://urlib.net")
    assert subject.isprintable()
    assert subject.isascii()
    assert SERVICE in subject
    portuguese, english = text.split("\n\n")
    assert "Arquivo" in portuguese
    assert "archive service" in english
    for each in (portuguese, english):
        assert SERVICE in each
        assert "http://urlib.net" in each


def test_answers_do_not_register_again() -> None:
    """A program that sends them back must not be taken for an administrator."""
    for subject, text in (
        confirmation(parse(SERVICE), "http://urlib.net"),
        pending_notice(parse(SERVICE), "http://urlib.net"),
    ):
        with pytest.raises(ResolverRequestError):
            read(f"Re: {subject}", SENDER, text)


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("a@b.org", True),
        ("first.last+tag@sub.example.org", True),
        ("a@localhost", True),
        ("a@b@c.org", False),
        ("a@b.org\n", False),
        ("a@-b.org", False),
        ("a\x00@b.org", False),
        ("é@b.org", False),
        ("<a@b.org>", False),
        ("a" * 65 + "@b.org", False),
        ("a@" + "b" * 256, False),
    ],
)
def test_mail_addresses(text: str, is_one: bool) -> None:  # noqa: FBT001  # a column
    assert is_mail_address(text) == is_one
