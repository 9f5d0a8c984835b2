"""Messages to administrators, by SMTP (RFC 5321)."""

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
from ibi.wire.mail_address import is_mail_address

SECONDS: Final = 20.0
"""How long the mail server may take for each answer."""
# Letters beyond ASCII are encoded, so that every server takes them.
_POLICY: Final = SMTP_POLICY.clone(cte_type="7bit")


class SmtpMailer:
    """Sends messages through one mail server, a connection each."""

    def __init__(
        self,
        place: str,
        sender: str,
        *,
        seconds: float = SECONDS,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Take the server's HOST:PORT, and the address that messages are from.

        Where the server offers a secure connection, it is used, and its certificate must be good
        by what the machine trusts, unless told otherwise. On this machine any certificate will
        do: nobody is in between.
        """
        host, _, port = place.rpartition(":")
        if not host or not (port.isascii() and port.isdigit()):
            raise MailError("the mail server is not set as HOST:PORT")
        if not is_mail_address(sender):
            raise MailError("the address that messages are from is no e-mail address")
        self._host, self._port = host.strip("[]"), int(port)
        self._sender = sender
        self._seconds = seconds
        self._tls = tls or _context(self._host)

    def send(self, recipient: str, subject: str, text: str) -> None:
        """Send one; MailError if the mail server does not take it."""
        message = _message(self._sender, recipient, subject, text)
        try:
            self._hand_over(message, recipient)
        except (SMTPException, OSError, ValueError) as failure:
            raise MailError(_words(failure)) from None

    def _hand_over(self, message: EmailMessage, recipient: str) -> None:
        # The name that smtplib would look up for its greeting may take longer than all the rest.
        domain = _domain(self._sender)
        server = SMTP(self._host, self._port, local_hostname=domain, timeout=self._seconds)
        try:
            server.ehlo_or_helo_if_needed()
            if server.has_extn("starttls"):
                server.starttls(context=self._tls)
            # `send_message` would write ">From" for a line that begins with "From".
            server.sendmail(self._sender, [recipient], message.as_bytes())
            # It has the message: how it says goodbye changes nothing about that.
            with suppress(SMTPException, OSError):
                server.quit()
        finally:
            server.close()


class NoMailer:
    """Stands where no mail server is set."""

    def send(self, recipient: str, subject: str, text: str) -> None:
        """Say that no message can be sent."""
        del recipient, subject, text
        raise MailError("no mail server is set (smtp)")


def _message(sender: str, recipient: str, subject: str, text: str) -> EmailMessage:
    if not is_mail_address(recipient):
        raise MailError("the recipient's is no e-mail address")
    if not subject.isprintable():  # a line end would begin another header
        raise MailError("the subject is not one line")
    message = EmailMessage(_POLICY)
    message["From"] = sender
    message["To"] = recipient
    message["Subject"] = subject
    message["Date"] = datetime.now(UTC)
    message["Message-ID"] = make_msgid(domain=_domain(sender))
    # RFC 3834, 5: so that no program answers, and the two go on for ever.
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
    (SMTPRecipientsRefused, "the mail server does not take messages to this recipient"),
    (SMTPSenderRefused, "the mail server does not take messages from this resolver"),
    (SMTPConnectError, "the mail server does not take connections"),
    (SMTPServerDisconnected, "the mail server broke off, or did not answer in time"),
    (SMTPResponseException, "the mail server refused it"),
    (SMTPException, "the mail server does not speak as one does"),
    (ssl.SSLCertVerificationError, "the certificate of the mail server is not good"),
    (ssl.SSLError, "there is no secure connection to the mail server"),
    (OSError, "there is no connection to the mail server"),
    (Exception, "it cannot be written as a message"),
)


def _words(failure: Exception) -> str:
    """Say what happened in words of ours: a server's may hold anything."""
    return next(words for kind, words in _WORDS if isinstance(failure, kind))
