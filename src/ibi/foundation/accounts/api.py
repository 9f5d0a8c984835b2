"""The API for accounts and invitations, the same for an archive and a resolver."""

from __future__ import annotations

from http import HTTPStatus
from typing import Literal

import msgspec
from starlette.responses import Response

from ibi.errors import NoAccountError, Sentence
from ibi.foundation.accounts.accounts import Accounts
from ibi.foundation.accounts.invitation_pages import INVITATION_PATH, PASSWORD_PATH
from ibi.foundation.accounts.site import NoteAct, run
from ibi.foundation.web.json_response import json_answer
from ibi.foundation.web.openapi import PAGE, parameter
from ibi.foundation.web.operations import AuthorizedRequest, Operation
from ibi.foundation.web.request_body import number_of
from ibi.foundation.web.tokens import digest
from ibi.identifier.instant import Instant
from ibi.model.account import ACTIVE, INACTIVE, REMOVED, Account, AccountLink
from ibi.model.clock import SECOND

_MAX_PAGE = 1000
NO_INVITATION = Sentence("There is no such invitation.")


class AccountAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """An account."""

    name: str
    actor: str
    """The name in the history."""
    full_name: str
    role: str
    state: Literal["active", "inactive", "removed"]
    created: str
    mail: str = ""


class AccountsAnswer(msgspec.Struct, frozen=True):
    """A page of the list of accounts."""

    accounts: list[AccountAnswer]
    after: str
    """The name after which the next page begins; empty on the last one."""


class AccountChange(msgspec.Struct, forbid_unknown_fields=True):
    """What changes of an account; an empty field stays as it is."""

    role: str = ""
    state: Literal["", "active", "inactive", "removed"] = ""
    """`removed` erases everything but the name, for good."""


class InvitationRequest(msgspec.Struct, forbid_unknown_fields=True):
    """An invitation to be made."""

    role: str
    mail: str = ""
    """The address of the person, if it is known."""


class InvitationAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """An invitation; its link is shown only when it is made."""

    id: str
    role: str
    made_by: str
    expires: str
    mail: str = ""
    link: str = ""


class InvitationsAnswer(msgspec.Struct, frozen=True):
    """The invitations that are not accepted yet."""

    invitations: list[InvitationAnswer]


class AccountLinkAnswer(msgspec.Struct, frozen=True):
    """A link that works once."""

    link: str


class AccountsApi:
    """Handlers of the operations on accounts."""

    def __init__(self, accounts: Accounts, address: str, note: NoteAct) -> None:
        """Act on the accounts of a program at an address."""
        self._accounts = accounts
        self._address = address
        self._note = note

    async def list(self, request: AuthorizedRequest) -> Response:
        """List accounts."""
        limit = number_of(request.query_params.get("limit", "1000"), 1, _MAX_PAGE)
        after = request.query_params.get("after", "")
        found = await run(lambda: self._accounts.store.page(after, limit))
        more = found[-1].name if len(found) == limit else ""
        return json_answer(AccountsAnswer([_answer(each) for each in found], more))

    async def show(self, request: AuthorizedRequest) -> Response:
        """Show an account."""
        return json_answer(_answer(await run(lambda: self._accounts.get(_name(request)))))

    async def change(self, request: AuthorizedRequest) -> Response:
        """Change the role or the state of an account."""
        wanted, name = await request.read(AccountChange), _name(request)
        account = await run(lambda: self._accounts.get(name))
        if wanted.role:
            account = await run(lambda: self._accounts.set_role(name, wanted.role))
            await self._note("change role", request.caller, {"name": name, "role": wanted.role})
        if wanted.state:
            acts = {
                ACTIVE: self._accounts.activate,
                INACTIVE: self._accounts.deactivate,
                REMOVED: self._accounts.remove,
            }
            account = await run(lambda: acts[wanted.state](name))
            await self._note(ACTS[wanted.state], request.caller, {"name": name})
        return json_answer(_answer(account))

    async def reset(self, request: AuthorizedRequest) -> Response:
        """Make a link by which the person sets a new password."""
        name = _name(request)
        secret = await run(lambda: self._accounts.reset_link(name, request.caller))
        await self._note("make reset link", request.caller, {"name": name})
        url = f"{self._address}{PASSWORD_PATH}/{secret}"
        return json_answer(AccountLinkAnswer(url), HTTPStatus.CREATED)

    async def invitations(self, _: AuthorizedRequest) -> Response:
        """List the invitations."""
        found = await run(self._accounts.invitations)
        return json_answer(InvitationsAnswer([_invitation(each) for each in found]))

    async def invite(self, request: AuthorizedRequest) -> Response:
        """Make an invitation."""
        wanted = await request.read(InvitationRequest)
        secret = await run(lambda: self._accounts.invite(wanted.role, request.caller, wanted.mail))
        await self._note("invite", request.caller, {"role": wanted.role, "mail": wanted.mail})
        found = await run(lambda: self._accounts.store.link(digest(secret)))
        if found is None:
            raise NoAccountError(NO_INVITATION)
        link = f"{self._address}{INVITATION_PATH}/{secret}"
        return json_answer(
            msgspec.structs.replace(_invitation(found), link=link), HTTPStatus.CREATED
        )

    async def revoke(self, request: AuthorizedRequest) -> Response:
        """Revoke an invitation."""
        id_ = request.path_params["id"]
        if not await run(lambda: self._accounts.revoke(id_)):
            raise NoAccountError(NO_INVITATION)
        await self._note("revoke invitation", request.caller, {})
        return Response(status_code=HTTPStatus.NO_CONTENT)


ACTS = {ACTIVE: "activate account", INACTIVE: "deactivate account", REMOVED: "remove account"}
"""The acts in the history by which an account gets a state."""


def _name(request: AuthorizedRequest) -> str:
    name: str = request.path_params["name"]
    return name


def _answer(account: Account) -> AccountAnswer:
    created = Instant(account.created // SECOND).iso8601
    return AccountAnswer(
        account.name,
        account.actor,
        account.full_name,
        account.role,
        account.state,  # type: ignore[arg-type]  # one of the three
        created,
        account.mail,
    )


def _invitation(link: AccountLink) -> InvitationAnswer:
    expires = Instant(link.expires // SECOND).iso8601
    return InvitationAnswer(link.digest, link.role, link.made_by, expires, link.mail)


_NAME = parameter("name", "The name of an account")


def account_operations(highest: str) -> tuple[Operation, ...]:
    """Return the operations of a program; they need its highest scope."""
    # Three lines an operation, to be read as a table.
    # fmt: off
    return (
        Operation("GET", "/api/v1/accounts", highest, AccountsApi.list,
            "List accounts", answer=AccountsAnswer, parameters=PAGE),
        Operation("GET", "/api/v1/accounts/{name}", highest, AccountsApi.show,
            "Show an account", answer=AccountAnswer, problems=(404,), parameters=(_NAME,)),
        Operation("PATCH", "/api/v1/accounts/{name}", highest, AccountsApi.change,
            "Change the role or the state of an account",
            request=AccountChange, answer=AccountAnswer, problems=(404, 409, 413, 507),
            parameters=(_NAME,)),
        Operation("POST", "/api/v1/accounts/{name}/reset", highest, AccountsApi.reset,
            "Make a link by which the person sets a new password; it works once",
            answer=AccountLinkAnswer, status=201, problems=(404, 507), parameters=(_NAME,)),
        Operation("GET", "/api/v1/invitations", highest, AccountsApi.invitations,
            "List invitations that are not accepted yet", answer=InvitationsAnswer),
        Operation("POST", "/api/v1/invitations", highest, AccountsApi.invite,
            "Invite a person to an account with a role; the link is shown once",
            request=InvitationRequest, answer=InvitationAnswer, status=201, problems=(413, 507)),
        Operation("DELETE", "/api/v1/invitations/{id}", highest, AccountsApi.revoke,
            "Revoke an invitation", status=204, problems=(404, 507),
            parameters=(parameter("id", "The id of an invitation"),)),
    )
    # fmt: on
