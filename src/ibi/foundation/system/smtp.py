"""E-mail to administrators, by SMTP (RFC 5321)."""

from __future__ import annotations

import ssl
from contextlib import suppress
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import SMTP as SMTP_POLICY
from email.utils import make_msgid
from ipaddress import ip_address
from smtplib import (
    SMTP,
    SMTPConnectError,
    SMTPException,
    SMTPRecipientsRefused,
    SMTPResponseException,
    SMTPSenderRefused,
    SMTPServerDisconnected,
)
from typing import Final

from ibi.errors import MailError
from ibi.wire.addresses import is_mail_address

SECONDS: Final = 20.0
"""Seconds that the mail server may take for each answer."""
# Letters beyond ASCII are encoded, so that every server accepts them.
_POLICY: Final = SMTP_POLICY.clone(cte_type="7bit")


class SmtpMailer:
    """Sends messages through one mail server, with a connection for each."""

    def __init__(
        self,
        place: str,
        sender: str,
        *,
        seconds: float = SECONDS,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Take the server's HOST:PORT, and the sender's address.

        If the server offers STARTTLS it is used, and the certificate must be valid for the
        machine's trust store, unless another context is given. For a server on this machine any
        certificate is accepted, because there is no network in between.
        """
        host, _, port = place.rpartition(":")
        if not host or not (port.isascii() and port.isdigit()):
            raise MailError("the mail server is not set as HOST:PORT")
        if not is_mail_address(sender):
            raise MailError("the sender's address is not an e-mail address")
        self._host, self._port = host.strip("[]"), int(port)
        self._sender = sender
        self._seconds = seconds
        self._tls = tls or _context(self._host)

    def send(self, recipient: str, subject: str, text: str) -> None:
        """Send one message; MailError if the mail server does not accept it."""
        message = _message(self._sender, recipient, subject, text)
        try:
            self._deliver(message, recipient)
        except (SMTPException, OSError, ValueError) as failure:
            raise MailError(_words(failure)) from None

    def _deliver(self, message: EmailMessage, recipient: str) -> None:
        # The look-up of a name for the greeting, as smtplib does it, may take longer than the rest.
        domain = _domain(self._sender)
        server = SMTP(self._host, self._port, local_hostname=domain, timeout=self._seconds)
        try:
            server.ehlo_or_helo_if_needed()
            if server.has_extn("starttls"):
                server.starttls(context=self._tls)
            # `send_message` would write ">From" for a line that begins with "From".
            server.sendmail(self._sender, [recipient], message.as_bytes())
            # The server has accepted the message: errors of the farewell do not matter.
            with suppress(SMTPException, OSError):
                server.quit()
        finally:
            server.close()


class NoMailer:
    """Refuses all messages, because no mail server is configured."""

    def send(self, recipient: str, subject: str, text: str) -> None:
        """Raise MailError."""
        del recipient, subject, text
        raise MailError("no mail server is set (smtp)")


def _message(sender: str, recipient: str, subject: str, text: str) -> EmailMessage:
    if not is_mail_address(recipient):
        raise MailError("the recipient's address is not an e-mail address")
    if not subject.isprintable():  # a line end would begin another header
        raise MailError("the subject is not one line")
    message = EmailMessage(_POLICY)
    message["From"] = sender
    message["To"] = recipient
    message["Subject"] = subject
    message["Date"] = datetime.now(UTC)
    message["Message-ID"] = make_msgid(domain=_domain(sender))
    # RFC 3834, 5: so that no program replies, and two programs do not loop.
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(text)
    return message


def _domain(address: str) -> str:
    return address.rpartition("@")[2]


def _context(host: str) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if _is_loopback(host):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


_WORDS: Final[tuple[tuple[type[Exception], str], ...]] = (
    (TimeoutError, "the mail server did not answer in time"),
    (SMTPRecipientsRefused, "the mail server does not accept messages to this recipient"),
    (SMTPSenderRefused, "the mail server does not accept messages from this resolver"),
    (SMTPConnectError, "the mail server does not accept connections"),
    (SMTPServerDisconnected, "the mail server broke off, or did not answer in time"),
    (SMTPResponseException, "the mail server refused it"),
    (SMTPException, "the mail server does not follow the protocol"),
    (ssl.SSLCertVerificationError, "the certificate of the mail server is not valid"),
    (ssl.SSLError, "there is no secure connection to the mail server"),
    (OSError, "there is no connection to the mail server"),
    (Exception, "it cannot be written as a message"),
)


def _words(failure: Exception) -> str:
    """Return a message of our own: a server's may contain anything."""
    return next(words for kind, words in _WORDS if isinstance(failure, kind))
