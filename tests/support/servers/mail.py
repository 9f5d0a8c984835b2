"""A real mail server for tests, in a thread of the test's process."""

from __future__ import annotations

import asyncio
import ssl
from email import message_from_bytes, policy
from email.message import EmailMessage
from threading import Thread
from typing import Self

from aiosmtpd.smtp import SMTP, Envelope, Session


class MailServer:
    """A mail server that keeps what it gets, and answers as it is told."""

    def __init__(
        self, tls: ssl.SSLContext | None = None, rcpt: str = "250 OK", data: str = "250 OK"
    ) -> None:
        """Take what to answer to RCPT and DATA."""
        self.envelopes: list[Envelope] = []
        self.secure: list[bool] = []
        self._answers = rcpt, data
        self._tls = tls
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, daemon=True)
        self._protocols: list[SMTP] = []
        self.port = 0

    def _protocol(self) -> SMTP:
        protocol = SMTP(self, loop=self._loop, hostname="mail.test", tls_context=self._tls)
        self._protocols.append(protocol)
        return protocol

    def __enter__(self) -> Self:
        """Listen."""
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(
            self._loop.create_server(self._protocol, "127.0.0.1", 0), self._loop
        ).result(60)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *_: object) -> None:
        """Stop, and see off who is still connected."""
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(60)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _stop(self) -> None:
        self._server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._server.wait_closed()

    async def handle_RCPT(  # noqa: N802  # as it is called
        self,
        server: SMTP,
        session: Session,
        envelope: Envelope,
        address: str,
        options: list[str],
    ) -> str:
        """Take a recipient, or not."""
        del server, session, options
        envelope.rcpt_tos.append(address)
        return self._answers[0]

    async def handle_DATA(  # noqa: N802  # as it is called
        self, server: SMTP, session: Session, envelope: Envelope
    ) -> str:
        """Take a message, or not."""
        del server
        self.envelopes.append(envelope)
        self.secure.append(session.ssl is not None)
        return self._answers[1]

    def message(self) -> EmailMessage:
        """Return the one message that came."""
        [envelope] = self.envelopes
        return message_in(envelope)


def message_in(envelope: Envelope) -> EmailMessage:
    """Return the message of an envelope."""
    assert isinstance(envelope.content, bytes)
    return message_from_bytes(envelope.content, _class=EmailMessage, policy=policy.default)
