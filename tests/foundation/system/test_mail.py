"""Mail: what a real server gets of us, and what we read of what a server hands over."""

from __future__ import annotations

import io
import mailbox
import socket
from datetime import UTC, datetime, timedelta
from email import policy
from email.message import EmailMessage
from email.utils import parsedate_to_datetime
from pathlib import Path
from threading import Thread
from typing import Final

import pytest

from ibi import parse
from ibi.errors import MailError, ResolverRequestError
from ibi.foundation.system.mailbox import MAX_MESSAGE, MOST_PARTS, messages
from ibi.foundation.system.smtp import NoMailer, SmtpMailer
from ibi.model.archive_record import RegistrationKey
from ibi.resolver.rules.registration_mail import MailedRegistration, confirmation, read
from tests.support.servers.mail import MailServer
from tests.support.servers.port_reservation import reserved_port
from tests.support.servers.tls import client_tls, server_tls

SENDER: Final = "resolver@example.org"
RECIPIENT: Final = "banon@dpi.inpe.br"


# What a server gets


def test_a_message_arrives_as_it_was_meant() -> None:
    subject, text = confirmation(parse("dpi.inpe.br/banon/1999/01.09.22.14"), "http://urlib.net")
    with MailServer() as server:
        SmtpMailer(f"127.0.0.1:{server.port}", SENDER).send(RECIPIENT, subject, text)
        message = server.message()
        [envelope] = server.envelopes
        assert (envelope.mail_from, envelope.rcpt_tos) == (SENDER, [RECIPIENT])
        assert server.secure == [False]
    assert message["Subject"] == subject
    assert message["From"] == SENDER
    assert message["To"] == RECIPIENT
    assert message["Auto-Submitted"] == "auto-generated"
    assert str(message["Message-ID"]).endswith("@example.org>")
    sent = parsedate_to_datetime(message["Date"])
    assert abs(datetime.now(UTC) - sent) < timedelta(days=1)
    assert message.get_content().replace("\r\n", "\n") == text


@pytest.mark.parametrize("text", ["ação\n.\nFrom here\n", "é" * 2000 + "\n", "x" * 2000 + "\n"])
def test_lines_are_such_that_every_server_takes_them(text: str) -> None:
    with MailServer() as server:
        SmtpMailer(f"127.0.0.1:{server.port}", SENDER).send(RECIPIENT, "Serviço €", text)
        content = server.envelopes[0].content
        message = server.message()
    assert isinstance(content, bytes)
    assert content.isascii()
    assert max(map(len, content.split(b"\r\n"))) <= 998
    assert message["Subject"] == "Serviço €"
    assert message.get_content().replace("\r\n", "\n") == text


@pytest.mark.parametrize("bad", ["\r\nBcc: x@example.org", "\nx", "\r", "\x00", "\u2028"])
def test_nothing_adds_a_header_or_a_recipient(bad: str) -> None:
    with MailServer() as server:
        mailer = SmtpMailer(f"127.0.0.1:{server.port}", SENDER)
        with pytest.raises(MailError, match="one line"):
            mailer.send(RECIPIENT, f"Subject{bad}", "text")
        with pytest.raises(MailError, match="not an e-mail address"):
            mailer.send(f"{RECIPIENT}{bad}", "Subject", "text")
        assert server.envelopes == []


@pytest.mark.parametrize(
    "recipient", ["", "nobody", "a@b.org, c@d.org", "A <a@b.org>", "a@b.org> SIZE=1"]
)
def test_who_is_no_recipient_gets_nothing(recipient: str) -> None:
    with MailServer() as server:
        mailer = SmtpMailer(f"127.0.0.1:{server.port}", SENDER)
        with pytest.raises(MailError, match="not an e-mail address"):
            mailer.send(recipient, "Subject", "text")
        assert server.envelopes == []


def test_a_secure_connection_is_used_where_it_is_offered(tmp_path: Path) -> None:
    with MailServer(server_tls(tmp_path)) as server:
        SmtpMailer(f"127.0.0.1:{server.port}", SENDER).send(RECIPIENT, "Subject", "text\n")
        assert server.secure == [True]


def test_elsewhere_the_certificate_must_be_good(tmp_path: Path) -> None:
    trusting = client_tls()
    with MailServer(server_tls(tmp_path)) as server:
        # Another spelling of 127.0.0.1, which is not known for one of this machine.
        mailer = SmtpMailer(f"127.1:{server.port}", SENDER)
        with pytest.raises(MailError, match="certificate of the mail server is not valid"):
            mailer.send(RECIPIENT, "Subject", "text\n")
        assert server.envelopes == []
        mailer = SmtpMailer(f"127.0.0.1:{server.port}", SENDER, tls=trusting)
        mailer.send(RECIPIENT, "Subject", "text\n")
        assert server.secure == [True]


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        (("550 <script>no</script>", "250 OK"), "does not accept messages to this recipient"),
        (("250 OK", "552 <script>no</script>"), "the mail server refused it"),
        (("250 OK", "451 <script>no</script>"), "the mail server refused it"),
    ],
)
def test_what_a_server_refuses_is_told_in_our_words(answers: tuple[str, str], reason: str) -> None:
    with MailServer(None, *answers) as server:
        mailer = SmtpMailer(f"127.0.0.1:{server.port}", SENDER)
        with pytest.raises(MailError, match=reason) as caught:
            mailer.send(RECIPIENT, "Subject", "text")
    assert "script" not in str(caught.value)


def speaking(octets: bytes) -> socket.socket:
    """Return a listener that says so much to who comes, and then nothing any more."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        try:
            peer, _ = listener.accept()
        except OSError:
            return
        with peer:
            peer.sendall(octets)
            while octets and peer.recv(4096):
                pass

    Thread(target=serve, daemon=True).start()
    return listener


@pytest.mark.parametrize(
    ("octets", "seconds", "reason"),
    [
        (b"220 hello\r\n", 0.5, "did not answer in time"),
        (b"554 no\r\n", 60, "does not accept connections"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", 60, "does not accept connections"),
        (b"", 60, "broke off"),
    ],
)
def test_a_server_that_is_none(octets: bytes, seconds: float, reason: str) -> None:
    with speaking(octets) as listener:
        mailer = SmtpMailer(f"127.0.0.1:{listener.getsockname()[1]}", SENDER, seconds=seconds)
        with pytest.raises(MailError, match=reason):
            mailer.send(RECIPIENT, "Subject", "text")


def test_no_server_at_all() -> None:
    port = reserved_port()
    with pytest.raises(MailError, match="there is no connection to the mail server"):
        SmtpMailer(f"127.0.0.1:{port}", SENDER).send(RECIPIENT, "Subject", "text")
    with pytest.raises(MailError, match=r"no mail server is set \(smtp\)"):
        NoMailer().send(RECIPIENT, "Subject", "text")


@pytest.mark.parametrize("place", ["", "localhost", ":25", "localhost:", "localhost:²⁵"])
def test_a_place_that_is_none(place: str) -> None:
    with pytest.raises(MailError, match="HOST:PORT"):
        SmtpMailer(place, SENDER)


def test_a_sender_that_is_none() -> None:
    with pytest.raises(MailError, match="sender's address"):
        SmtpMailer("localhost:25", "resolver")


# What a server hands over

TEXT: Final = """\
IBI do serviço de Arquivo:
archiveserviceibi = dpi.inpe.br/banon/1999/01.09.22.14

Chave de cadastro:
registrationkey = 1234567890
"""
SUBJECT: Final = "Cadastro de um novo Arquivo"
REGISTRATION: Final = MailedRegistration(
    parse("dpi.inpe.br/banon/1999/01.09.22.14"), RegistrationKey("1234567890"), RECIPIENT
)


def mailed(subject: str = SUBJECT, text: str = TEXT, cte: str = "8bit") -> EmailMessage:
    message = EmailMessage(policy.SMTP)
    message["From"] = f"Gerald Banon <{RECIPIENT}>"
    message["Subject"] = subject
    message.set_content(text, cte=cte)
    return message


def piped(octets: bytes) -> list[tuple[str, str, str]]:
    return list(messages(io.BytesIO(octets)))


@pytest.mark.parametrize("cte", ["8bit", "quoted-printable", "base64"])
def test_a_piped_message_is_read(cte: str) -> None:
    [message] = piped(mailed(cte=cte).as_bytes())
    assert message[:2] == (SUBJECT, RECIPIENT)
    assert "serviço" in message[2]
    assert read(*message) == REGISTRATION


def test_what_our_mailer_sends_can_be_read_too() -> None:
    """But for the mark of an automatic message, which nobody is to answer."""
    with MailServer() as server:
        SmtpMailer(f"127.0.0.1:{server.port}", RECIPIENT).send(SENDER, SUBJECT, TEXT)
        message = server.message()
    assert piped(message.as_bytes()) == []
    del message["Auto-Submitted"]
    [found] = piped(message.as_bytes())
    assert read(*found) == REGISTRATION


@pytest.mark.parametrize(
    ("mark", "count"), [("no", 1), ("NO; x=y", 1), ("auto-replied", 0), ("auto-generated; x", 0)]
)
def test_automatic_messages_are_left_out(mark: str, count: int) -> None:
    message = mailed()
    message["Auto-Submitted"] = mark
    assert len(piped(message.as_bytes())) == count


def test_the_plain_text_of_many_parts_is_read() -> None:
    message = mailed()
    message.add_alternative("<p>registrationkey = 1</p>", subtype="html")
    message.add_attachment(b"\x00\xff", maintype="application", subtype="pdf", filename="a.pdf")
    message.add_attachment("registrationkey = 1111111111", filename="a.txt")
    [found] = piped(message.as_bytes())
    assert read(*found) == REGISTRATION


def headed(*headers: str, text: bytes = TEXT.encode()) -> bytes:
    lines = [f"From: {RECIPIENT}", f"Subject: {SUBJECT}", *headers, "", ""]
    return "\r\n".join(lines).encode() + text


@pytest.mark.parametrize(
    "octets",
    [
        headed(),
        headed("Content-Type: text/plain; charset=iso-8859-1", text=TEXT.encode("latin-1")),
        headed("Content-Type: text/plain; charset=windows-1252", text=TEXT.encode("cp1252")),
        headed("Content-Type: text/plain; charset=utf-8", text=TEXT.encode("latin-1")),
        headed("Content-Type: text/plain; charset=nonsense"),
        headed("Content-Type: text/plain; charset=rot13"),
        headed("Content-Type: text/plain; charset=punycode"),
        headed("Content-Type: text/plain", text=TEXT.encode("latin-1")),
    ],
)
def test_any_charset_is_read(octets: bytes) -> None:
    [found] = piped(octets)
    assert "serviço" in found[2]
    assert read(*found) == REGISTRATION


def test_an_encoded_subject_is_read() -> None:
    [found] = piped(b"Subject: =?iso-8859-1?q?Servi=E7o?=\r\n =?utf-8?b?IMOp?=\r\n\r\nx")
    assert found == ("Serviço é", "", "x")


def test_a_message_of_nothing_says_nothing() -> None:
    assert piped(b"") == [("", "", "")]


def test_html_alone_is_no_text() -> None:
    assert piped(b"Content-Type: text/html\r\n\r\n<p>x</p>") == [("", "", "")]


def test_too_large_a_message_is_refused() -> None:
    head = headed()
    [found] = piped(head + b" " * (MAX_MESSAGE - len(head)))
    assert read(*found) == REGISTRATION
    with pytest.raises(ResolverRequestError, match="too large"):
        piped(head + b" " * (MAX_MESSAGE - len(head) + 1))


def test_too_many_parts_are_refused() -> None:
    """Without a bound, a megabyte of them takes a quarter of a minute."""
    assert len(piped(headed() + b"\n--" * MOST_PARTS)) == 1
    for line_end in (b"\n", b"\r"):
        with pytest.raises(ResolverRequestError, match="too many parts"):
            piped(headed() + (line_end + b"--") * (MOST_PARTS + 1))


HOSTILE: Final = {
    "comments": b"From: " + b"(" * 1_000_000,
    "encoded words": b"Subject: " + b"=?utf-8?q?a?= " * 70_000,
    "parameters": b"Content-Type: text/plain; " + b"a*1*=%41; " * 100_000,
    "continued": b"Content-Type: multipart/mixed;" + b"\r\n boundary=a;" * 60_000,
    "messages": b"Content-Type: message/rfc822\r\n\r\n" * 30_000,
    "punycode": b"Content-Type: text/plain; charset=punycode\r\n\r\na-" + b"b" * 1_000_000,
    "no header": b"\xff\x00" * 500_000,
    "a bad date": b"Date: \xff\r\nFrom: @,;:<>\r\nSubject: =?x?y?z?=\r\n\r\n",
    "a bad transfer": b"Content-Transfer-Encoding: base64\r\n\r\n" + b"=" * 1_000_000,
    "a NUL": b"Content-Type: text/plain; charset=a\x00b\r\nFrom: \x00\r\n\r\nx",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_whatever_comes_is_read_or_refused_soon(name: str) -> None:
    """That it comes to an end is the point: without its bounds some take hours."""
    try:
        found = piped(HOSTILE[name])
    except ResolverRequestError:
        return
    for subject, sender, text in found:
        with pytest.raises(ResolverRequestError):
            read(subject, sender, text)


def test_an_mbox_is_read(tmp_path: Path) -> None:
    path = tmp_path / "mbox"
    box = mailbox.mbox(path)
    for each in (mailed(), mailed("Another"), mailed(cte="base64")):
        box.add(each)
    box.close()
    found = list(messages(path))
    assert [subject for subject, _, _ in found] == [SUBJECT, "Another", SUBJECT]
    assert read(*found[0]) == read(*found[2]) == REGISTRATION


def test_a_maildir_is_read(tmp_path: Path) -> None:
    box = mailbox.Maildir(tmp_path / "maildir")
    box.add(mailed())
    box.add(mailed("Another"))
    found = list(messages(tmp_path / "maildir"))
    assert sorted(subject for subject, _, _ in found) == ["Another", SUBJECT]


@pytest.mark.parametrize("kind", [mailbox.mbox, mailbox.Maildir])
def test_in_a_box_bad_messages_hide_no_good_ones(
    kind: type[mailbox.mbox | mailbox.Maildir], tmp_path: Path
) -> None:
    box = kind(tmp_path / "box")
    box.add(headed() + b" " * MAX_MESSAGE)
    box.add(HOSTILE["comments"])
    box.add(headed() + b"\n--" * (MOST_PARTS + 1))
    box.add(mailed())
    box.close()
    found = [each for each in messages(tmp_path / "box") if each[0]]
    assert [read(*each) for each in found] == [REGISTRATION]


def test_what_is_no_box_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "text").write_text("not a box\n")
    (tmp_path / "empty").touch()
    for name in ("folder", "text", "nothing"):
        with pytest.raises(ResolverRequestError, match="an mbox file or a Maildir"):
            list(messages(tmp_path / name))
    assert list(messages(tmp_path / "empty")) == []
    assert {path.name for path in tmp_path.iterdir()} == {"folder", "text", "empty"}
    assert list((tmp_path / "folder").iterdir()) == []
