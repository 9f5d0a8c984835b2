"""The link by which the first administrator of a new instance makes an account."""

from __future__ import annotations

from collections.abc import Mapping

from ibi.errors import StorageError
from ibi.foundation.accounts.accounts import Accounts
from ibi.foundation.accounts.invitation_pages import INVITATION_PATH
from ibi.model.account import ADMINISTRATOR, AccountStore
from ibi.model.clock import Clock
from ibi.model.token import Scopes, TokenStore

NO_ADMINISTRATOR = (
    "No administrator has an account yet. Open a link in a browser to make one; each works once, "
    "for a week, and replaces the one that was printed at the last start:"
)


def first_administrator(  # noqa: PLR0913, PLR0917  # its parts
    address: str,
    store: AccountStore,
    tokens: TokenStore,
    clock: Clock,
    scopes: Scopes,
    roles: Mapping[str, str],
    made_by: str,
) -> str:
    """Return the link for the first administrator; empty if there is one already.

    The links that were made for it before end. Where nothing can be written there is no link: a
    service starts on a full disk too, and a later start makes one.
    """
    if store.has_administrator():
        return ""
    accounts = Accounts(store, tokens, clock, scopes, roles)
    try:
        for link in accounts.invitations():
            if link.role == ADMINISTRATOR and link.made_by == made_by:
                store.end_link(link.digest)
        return f"{address}{INVITATION_PATH}/{accounts.invite(ADMINISTRATOR, made_by)}"
    except StorageError:
        return ""
