"""Accounts of one program: how they are made and changed, and how people sign in."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ibi.errors import FieldError, NoAccountError, Sentence, SignInError, TooManyRequestsError
from ibi.foundation.accounts import rules
from ibi.foundation.accounts.password_hash import PasswordHash
from ibi.foundation.accounts.sessions import new_secret
from ibi.foundation.accounts.store import NO_ACCOUNT, NO_LINK
from ibi.foundation.sql.rows import is_storable
from ibi.foundation.web.tokens import digest
from ibi.model.account import (
    ACTIVE,
    ADMINISTRATOR,
    INACTIVE,
    INVITATION,
    REMOVED,
    RESET,
    Account,
    AccountLink,
    AccountStore,
    GuessLimit,
    RoleScopes,
    actor_of,
    owner_of,
)
from ibi.model.clock import SECOND, Clock
from ibi.model.token import Scopes, Token, TokenStore

NAME_TAKEN: Final = Sentence("There is such an account already: take another name.")
_MOST_NAMESAKES: Final = 1000
"""People whose names a provider gives as the same."""
_WRONG: Final = Sentence("This is not your password.")


class Accounts:
    """The accounts of one program."""

    def __init__(  # noqa: PLR0913, PLR0917  # its parts
        self,
        store: AccountStore,
        tokens: TokenStore,
        clock: Clock,
        scopes: Scopes,
        roles: RoleScopes,
        hashes: PasswordHash | None = None,
    ) -> None:
        """Use stores; `roles` are those of the program, each with one of its scopes."""
        self.store = store
        self._scopes = scopes
        self.roles = roles
        self._tokens = tokens
        self._clock = clock
        self._hashes = hashes or PasswordHash()

    def get(self, name: str) -> Account:
        """Return an account; NoAccountError if there is none."""
        account = self.store.get(name)
        if account is None:
            raise NoAccountError(NO_ACCOUNT)
        return account

    def sign_in(self, typed: str, password: str, network: str) -> Account:
        """Return the account of a name or an address and a password; SignInError if it is wrong.

        An account that does not exist, or is not active, takes the same work and the same limits.
        """
        name = typed.strip().lower()[: rules.LONGEST_MAIL]
        account = self._of(name)
        limits = rules.guess_limits(account.name if account else name, network)
        self._charge(limits)
        kept = account.password if account and account.is_active else ""
        given = rules.normal_password(password[: 2 * rules.LONGEST_PASSWORD])
        if not self._hashes.matches(kept, given) or account is None:
            raise SignInError
        self.store.refund(limits)
        if self._hashes.is_outdated(kept):
            made = self._hashes.make(given)
            self.store.change(account.name, lambda each: replace(each, password=made))
        return account

    def _of(self, typed: str) -> Account | None:
        return self.store.find(mail=typed) if "@" in typed else self.store.get(typed)

    def _charge(self, limits: tuple[GuessLimit, ...]) -> None:
        wait = self.store.charge(limits, self._clock.wall())
        if wait:
            raise TooManyRequestsError(-(-wait // SECOND))

    # Links.

    def invite(self, role: str, made_by: str, mail: str = "") -> str:
        """Make an invitation to an account with a role, and return its secret."""
        rules.checked_role(role, self.roles)
        return self._link(
            INVITATION, made_by, rules.INVITATION_LIFE, role=role, mail=rules.checked_mail(mail)
        )

    def invitations(self) -> list[AccountLink]:
        """Return the invitations that can be accepted, the newest first."""
        now = self._clock.wall()
        return [
            each for each in self.store.links() if each.kind == INVITATION and each.is_valid(now)
        ]

    def revoke(self, id_: str) -> bool:
        """Revoke an invitation by its digest; return False if there is none."""
        link = self.store.link(id_) if is_storable(id_) else None
        return link is not None and link.kind == INVITATION and self.store.end_link(id_)

    def reset_link(self, name: str, made_by: str) -> str:
        """Make a link by which the person of an account sets a new password; return its secret."""
        account = self.get(name)
        if not account.is_active:
            raise NoAccountError(NO_ACCOUNT)
        return self._link(RESET, made_by, rules.ADMINISTRATORS_RESET_LIFE, account=name)

    def charge_mail(self, mail: str, network: str) -> None:
        """Count a request for a message, to an address with an account or without."""
        self._charge(rules.mail_limits(rules.mail_key(mail), network))

    def forgotten(self, mail: str) -> tuple[Account, str] | None:
        """Return the account of an address and the secret of a new link; None without account."""
        account = self.store.find(mail=mail)
        if account is None or not account.is_active:
            return None
        secret = self._link(RESET, account.actor, rules.RESET_LIFE, account=account.name)
        return account, secret

    def _link(  # noqa: PLR0913  # the parts of a link
        self,
        kind: str,
        made_by: str,
        life: int,
        *,
        account: str = "",
        role: str = "",
        mail: str = "",
    ) -> str:
        secret, now = new_secret(), self._clock.wall()
        link = AccountLink(
            digest=digest(secret),
            kind=kind,
            account=account,
            role=role,
            mail=mail,
            made_by=made_by,
            created=now,
            expires=now + life,
        )
        self.store.add_link(link)
        return secret

    def link(self, kind: str, secret: str, network: str) -> AccountLink:
        """Return a valid link by its secret; NoAccountError if there is none."""
        limits = rules.link_limits(network)
        self._charge(limits)
        found = self.store.link(digest(secret))
        if found is None or found.kind != kind or not found.is_valid(self._clock.wall()):
            raise NoAccountError(NO_LINK)
        self.store.refund(limits)
        return found

    def accept(  # noqa: PLR0913, PLR0917  # the fields of the form
        self,
        link: AccountLink,
        name: str,
        full_name: str,
        mail: str,
        password: str,
        repeated: str,
    ) -> Account:
        """Make the account of an invitation, which is used up."""
        now = self._clock.wall()
        account = Account(
            name=rules.checked_name(name),
            full_name=rules.checked_full_name(full_name),
            mail=rules.checked_mail(mail),
            role=link.role,
            created=now,
            changed=now,
        )
        checked = rules.checked_password(password, repeated, account.name, account.mail)
        self._check_free(account)
        account = replace(account, password=self._hashes.make(checked))
        if not self.store.add(account, link.digest):
            raise FieldError("name", NAME_TAKEN)
        return account

    def _check_free(self, account: Account) -> None:
        if self.store.get(account.name) is not None:
            raise FieldError("name", NAME_TAKEN)
        if account.mail and self.store.find(mail=account.mail) is not None:
            raise FieldError("mail", Sentence("Another account has this address."))

    def reset(self, link: AccountLink, password: str, repeated: str) -> Account:
        """Set the password of the account of a link, which is used up; all sessions end."""
        account = self.get(link.account)
        checked = rules.checked_password(password, repeated, account.name, account.mail)
        made, now = self._hashes.make(checked), self._clock.wall()

        def change(each: Account) -> Account:
            if not each.is_active:
                raise NoAccountError(NO_LINK)
            return replace(each, password=made, changed=now)

        account = self.store.change(account.name, change, link.digest)
        self.store.end_sessions(account.name)
        for limit in rules.guess_limits(account.name, ""):
            self.store.forget(limit.key)
        return account

    def join(self, name: str, full_name: str, mail: str, role: str, subject: str) -> Account:
        """Make the account of a person whom an OpenID provider knows, under a name that is free."""
        rules.checked_role(role, self.roles)
        now = self._clock.wall()
        is_free = not mail or self.store.find(mail=mail) is None
        account = Account(
            name=rules.checked_name(name),
            full_name=rules.checked_full_name(full_name),
            mail=rules.checked_mail(mail) if is_free else "",
            role=role,
            subject=subject,
            created=now,
            changed=now,
        )
        for number in range(1, _MOST_NAMESAKES):
            ending = f"-{number}" if number > 1 else ""
            each = replace(account, name=f"{account.name}{ending}")
            if self.store.get(each.name) is None and self.store.add(each):
                return each
        raise FieldError("name", NAME_TAKEN)

    def connect(self, name: str, subject: str) -> Account:
        """Connect an account with a person at an OpenID provider."""
        return self.store.change(name, lambda each: replace(each, subject=subject))

    # Changes.

    def describe(self, name: str, full_name: str, mail: str) -> Account:
        """Set the names and the address of a person."""
        shown = rules.checked_full_name(full_name)
        address = rules.checked_mail(mail)
        return self.store.change(name, lambda each: replace(each, full_name=shown, mail=address))

    def change_password(
        self, name: str, current: str, password: str, repeated: str, network: str
    ) -> Account:
        """Set the password of a person who knows the present one; the caller ends the sessions."""
        account = self.get(name)
        self.check_password(account, current, network)
        checked = rules.checked_password(password, repeated, account.name, account.mail)
        made, now = self._hashes.make(checked), self._clock.wall()
        return self.store.change(name, lambda each: replace(each, password=made, changed=now))

    def check_password(
        self, account: Account, current: str, network: str, field: str = "current"
    ) -> None:
        """Raise FieldError unless a text is the password of an account."""
        limits = rules.guess_limits(account.name, network)
        self._charge(limits)
        if not self._hashes.matches(account.password, rules.normal_password(current)):
            raise FieldError(field, _WRONG)
        self.store.refund(limits)

    def set_role(self, name: str, role: str) -> Account:
        """Give an account another role; its sessions and its tokens of wider scopes end."""
        rules.checked_role(role, self.roles)
        now = self._clock.wall()

        def change(each: Account) -> Account:
            if each.state == REMOVED:
                raise NoAccountError(NO_ACCOUNT)
            return replace(each, role=role, changed=now)

        return self.store.change(name, change)

    def deactivate(self, name: str) -> Account:
        """Close an account until it is activated again: sessions, links and tokens end."""
        account = self._set_state(name, INACTIVE)
        self._end_tokens(name)
        return account

    def activate(self, name: str) -> Account:
        """Open an account again."""
        return self._set_state(name, ACTIVE)

    def remove(self, name: str) -> Account:
        """Erase all but the name of an account, which is in the history and is not given again."""
        now = self._clock.wall()
        account = self.store.change(
            name,
            lambda each: replace(
                each,
                full_name=each.name,
                mail="",
                password="",
                subject="",
                state=REMOVED,
                changed=now,
            ),
        )
        self._end_tokens(name)
        return account

    def _set_state(self, name: str, state: str) -> Account:
        now = self._clock.wall()

        def change(each: Account) -> Account:
            if each.state == REMOVED:
                raise NoAccountError(NO_ACCOUNT)
            return replace(each, state=state, changed=now)

        return self.store.change(name, change)

    def _end_tokens(self, name: str) -> None:
        for token in self._tokens.tokens():
            if token.name.startswith(f"{actor_of(name)}/"):
                self._tokens.remove_token(token.name)

    def allows_token(self, token: Token) -> bool:
        """Return whether the owner of a token, if it is a personal one, still has its scope."""
        owner = owner_of(token.name)
        if not owner:
            return True
        account = self.store.get(owner)
        if account is None or not account.is_active:
            return False
        return token.scope in self._scopes.included(self.roles[account.role])

    def needs_administrator(self) -> bool:
        """Return whether there is no active administrator."""
        return not self.store.has_administrator()

    def first_administrator(self, made_by: str) -> str:
        """Return the secret of an invitation of an administrator."""
        return self.invite(ADMINISTRATOR, made_by)
