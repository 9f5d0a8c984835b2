"""Messages about reviews: to curators what waits for them, to depositors what was decided.

They are sent by a thread of their own. A message that is not accepted is logged, and keeps nothing
else from being done: the pages say the same.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Protocol

import structlog

from ibi.archive.ports.drafts import DepositDraft, DraftState
from ibi.errors import IbiError, Sentence
from ibi.model.account import CURATOR, AccountStore, owner_of

_PAGE: Final = 100
_LOG: Final = structlog.get_logger()


class Mailer(Protocol):
    """Sends messages to people."""

    def send(self, recipient: str, subject: str, text: str) -> None:
        """Send one message; MailError if it is not accepted."""
        ...


class ReviewNotices:
    """Tells people by mail what became of drafts."""

    def __init__(
        self,
        accounts: AccountStore,
        mailer: Mailer,
        site: str,
        address: str,
        translate: Callable[[Sentence], str] = str,
    ) -> None:
        """Write in the name of a site at an address, in the language of `translate`."""
        self._accounts = accounts
        self._mailer = mailer
        self._site = site
        self._address = address
        self._translate = translate
        self._threads = ThreadPoolExecutor(1, "ibi-review-mail")

    def start(self) -> None:
        """Do nothing: the thread starts with the first message."""

    def stop(self) -> None:
        """Wait for the message that is on its way; others are dropped."""
        self._threads.shutdown(cancel_futures=True)

    def on_move(self, draft: DepositDraft, state: DraftState, comment: str) -> None:
        """Send mails about a change of state to the owner or the curators."""
        if state is DraftState.SUBMITTED:
            self._threads.submit(self._submitted, draft)
        elif state is DraftState.RETURNED or (
            state is DraftState.PUBLISHED and draft.state is DraftState.SUBMITTED
        ):
            self._threads.submit(self._decided, draft, state, comment)

    def _submitted(self, draft: DepositDraft) -> None:
        subject = Sentence("A draft waits for review: %(title)s", title=_line(draft.title))
        text = Sentence(
            "A depositor of %(site)s submitted a draft. Look at it here:", site=self._site
        )
        url = f"{self._address}/curate/{draft.id}"
        for address in self._curators():
            self._send(address, subject, text, url)

    def _curators(self) -> list[str]:
        found: list[str] = []
        after = ""
        while page := self._accounts.page(after, _PAGE):
            after = page[-1].name
            found += [
                each.mail for each in page if each.role == CURATOR and each.is_active and each.mail
            ]
        return found

    def _decided(self, draft: DepositDraft, state: DraftState, comment: str) -> None:
        account = self._accounts.get(owner_of(draft.owner))
        if account is None or not account.mail or not account.is_active:
            return
        title = _line(draft.title)
        if state is DraftState.RETURNED:
            subject = Sentence("A draft was returned: %(title)s", title=title)
            text = Sentence(
                "A curator of %(site)s returned your draft with this comment:", site=self._site
            )
        else:
            subject = Sentence("A draft was published: %(title)s", title=title)
            text = Sentence("A curator of %(site)s published your draft.", site=self._site)
        self._send(account.mail, subject, text, comment, f"{self._address}/deposit/{draft.id}")

    def _send(self, recipient: str, subject: Sentence, text: Sentence, *further: str) -> None:
        parts = (self._translate(text), *filter(None, further))
        try:
            self._mailer.send(recipient, self._translate(subject), "\n\n".join(parts) + "\n")
        except IbiError as fault:
            _LOG.warning("a message about a draft was not sent", error=str(fault))


def _line(text: str) -> str:
    """Return a title as one line of bounded length: it becomes a header."""
    return " ".join(text.split())[:150]
