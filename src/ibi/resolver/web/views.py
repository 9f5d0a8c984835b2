"""The content of a resolver's pages, as values, and the texts of outcomes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final, NamedTuple, Self

from ibi.foundation.pages.templates import ProblemView
from ibi.identifier.description import Description
from ibi.identifier.label import Label
from ibi.metadata.negotiation import OFFERED
from ibi.model.archive_record import RegistrationKey
from ibi.model.registration import ArchiveState, RegisteredArchive
from ibi.resolver.ports.store import Challenge
from ibi.resolver.registry.domain_proof import Proof, http_proof, text_proof
from ibi.resolver.rules.archive_documents import Tombstone
from ibi.resolver.rules.label_plausibility import Impossibility
from ibi.resolver.web.explanation import (
    IMPOSSIBLE,
    NEXT_NOT_FOUND,
    ORIGINAL_GONE,
    UNREAD,
    Asked,
    Explanation,
)
from ibi.resolver.web.pasted_text import PastedText
from ibi.resolver.web.search_views import ListedArchive, NamedArchive
from ibi.wire.requests import DEFAULT_SERVICE


@dataclass(frozen=True, slots=True, kw_only=True)
class FilledForm:
    """The content of the form."""

    service: str = ""
    administrator: str = ""

    @classmethod
    def of(cls, fields: Mapping[str, str]) -> Self:
        """Read the fields of a form; missing ones are empty."""
        return cls(
            service=fields.get("service", "").strip(),
            administrator=fields.get("administrator", "").strip(),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterView:
    """The form by which an archive is registered."""

    is_open: bool
    """Whether an archive may be registered by proof; otherwise there is no form."""
    filled: FilledForm = FilledForm()
    fault: ProblemView | None = None
    """Why the archive was not registered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChallengeView:
    """The ways to prove control of a host, and the form that starts the check."""

    token: str
    challenge: Challenge | None
    """None if it was not looked up: the token can be sent again all the same."""
    fault: ProblemView | None = None

    @property
    def at_host(self) -> Proof | None:
        """The text that the host may serve."""
        return http_proof(self.challenge) if self.challenge else None

    @property
    def in_names(self) -> Proof | None:
        """The TXT record that the DNS may have instead; None for an IP address."""
        return text_proof(self.challenge) if self.challenge else None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyView:
    """An archive that was registered just now, and its key, which is shown once."""

    archive: RegisteredArchive
    key: RegistrationKey
    resolver: str
    """The address of the resolver."""
    resolver_service: Label

    @property
    def command(self) -> str:
        """The command for the administrator; it names the resolver's service if it is unusual."""
        service = self.resolver_service
        own = "" if service == DEFAULT_SERVICE else f" --service {service.spelling}"
        return f"ibi archive link {self.resolver} --key {self.key}{own}"


EXAMPLES: Final = (
    "8JMKD3MGP7W/3EPGUE5",
    "sid.inpe.br/mtc-m19/2013/09.04.12.27.57",
)
"""Examples of the two forms of a label."""


def counted(archives: Iterable[RegisteredArchive]) -> Mapping[ArchiveState, int]:
    """Return the number of archives by state."""
    return Counter(archive.state for archive in archives)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolverHomeView:
    """The front page of a resolver: one field, and what was pasted into it."""

    archives: Mapping[ArchiveState, int] = field(default_factory=dict)
    """The number of archives by state."""
    listed: tuple[ListedArchive, ...] = ()
    """The archives with the most labels."""
    pasted: PastedText | None = None
    examples: tuple[str, ...] = EXAMPLES


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceView:
    """The resolver service itself, at its own label."""

    service: Label
    address: str
    archives: Mapping[ArchiveState, int]
    """The number of archives by state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivesView:
    """The archives of a resolver, and the state of each."""

    archives: tuple[RegisteredArchive, ...]
    now: int
    """Nanoseconds of POSIX time."""
    open_conflicts: int = 0
    names: Mapping[str, str] = field(default_factory=dict)
    """The names that archives give themselves, by id."""


class OutcomeText(NamedTuple):
    """The text of an outcome, in English: what it is, and what to do next."""

    heading: str
    advice: str


OUTCOME_TEXTS: Final[dict[str, OutcomeText]] = {
    "redirect": OutcomeText(
        "The item was found", "Open it by its persistent URL, which stays the same."
    ),
    "not-found": OutcomeText(
        "No archive has this item",
        "Look at the identifier again: every character counts. Its archive may also be one that "
        "this resolver does not know.",
    ),
    Impossibility.IN_THE_FUTURE: OutcomeText(
        "No archive can have this item",
        "Look at the date in the identifier again: it was probably mistyped.",
    ),
    Impossibility.UNKNOWN_HOST: OutcomeText(
        "No archive can have this item",
        "Look at the beginning of the identifier again: it was probably mistyped. Its archive may "
        "also be one that this resolver does not know.",
    ),
    "gone": OutcomeText(
        "This item was deleted", "The identifier stays, but what it named is no longer kept."
    ),
    ORIGINAL_GONE: OutcomeText(
        "The Original of this item was deleted",
        "Ask for the item without requiring the Original, to read the copy.",
    ),
    NEXT_NOT_FOUND: OutcomeText(
        "No archive has the item that this one leads to",
        "Open the item itself, and tell the archive that keeps it. The archive of the other one "
        "may be one that this resolver does not know.",
    ),
    "unserved": OutcomeText(
        "The item does not have what was asked for",
        "Ask for the item itself, or for its metadata.",
    ),
    "conflict": OutcomeText(
        "Archives disagree about who has the Original",
        "The conflict is on record for the operator of this resolver. Until it is settled, ask "
        "for the item without requiring the Original.",
    ),
    "unsure": OutcomeText(
        "Not all archives have answered",
        "The item may be in an archive that did not answer. Try again in a moment.",
    ),
    UNREAD: OutcomeText(
        "The database of this resolver cannot be read",
        "Its operator has to see to that. Try again in a moment.",
    ),
    "loop": OutcomeText(
        "This identifier leads in a circle",
        "Open one of the items by itself, and tell the archives that keep them.",
    ),
    "endless": OutcomeText(
        "This identifier leads on without an end",
        "Open one of the items by itself, and tell the archives that keep them.",
    ),
}

STATUSES: Final = {
    "redirect": HTTPStatus.FOUND,
    "not-found": HTTPStatus.NOT_FOUND,
    "gone": HTTPStatus.GONE,
    "unserved": HTTPStatus.NOT_FOUND,
    "conflict": HTTPStatus.CONFLICT,
    "unsure": HTTPStatus.SERVICE_UNAVAILABLE,
    "loop": HTTPStatus.LOOP_DETECTED,
    "endless": HTTPStatus.LOOP_DETECTED,
}
"""Statuses by outcome."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedItem:
    """What an archive says of an item that it deleted."""

    label: Label
    archive: NamedArchive
    tombstone: Tombstone
    address: str
    """The address of the tombstone at the archive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeView:
    """Why a reader was sent nowhere."""

    explanation: Explanation
    description: Description
    """The description of the label that was asked for."""
    retry_after: int = 0
    """Seconds after which to try again; 0 if that is of no use."""
    deleted: DeletedItem | None = None
    """The tombstone of the item, if it was deleted and an archive says more of it."""
    meant: tuple[str, ...] = ()
    """Labels that archives have, and that may have been meant."""

    @property
    def without(self) -> int:
        """The number of archives that answered that they do not have the item."""
        return sum(each.said == "no" for each in self.explanation.last.asked)

    @property
    def copies(self) -> tuple[Asked, ...]:
        """The archives that have a copy of a deleted item."""
        return tuple(each for each in self.explanation.last.asked if each.said == "copy")

    @property
    def status(self) -> HTTPStatus:
        """The status of the page."""
        return HTTPStatus.NOT_ACCEPTABLE if self.formats else STATUSES[self.explanation.outcome]

    @property
    def formats(self) -> tuple[str, ...]:
        """The formats of metadata that archives have, if another one was asked for."""
        asked = (verb for step in self.explanation.steps for verb in step.verbs)
        has_format = any(verb.startswith("GetMetadata(") for verb in asked)
        return OFFERED if has_format and self.explanation.outcome == "unserved" else ()

    @property
    def language(self) -> str:
        """The language of a translation that was asked for and is not there; empty if none was."""
        if self.explanation.outcome != "unserved":
            return ""
        asked = (_TRANSLATION.fullmatch(verb) for verb in self.explanation.last.verbs)
        return next((found[1] for found in asked if found), "")

    @property
    def words(self) -> OutcomeText:
        """The text of the outcome."""
        return OUTCOME_TEXTS[self.explanation.case]

    @property
    def concerned(self) -> tuple[Asked, ...]:
        """The archives to name: claimants, those that deleted or have the item, or silent ones."""
        wanted = _CONCERNED.get(self.explanation.case, ())
        return tuple(each for each in self.explanation.last.asked if each.said in wanted)


_TRANSLATION: Final = re.compile(r"GetTranslation\(([A-Za-z-]+)\)")
_CONCERNED: Final[dict[str, tuple[str, ...]]] = {
    "gone": ("deleted",),
    ORIGINAL_GONE: ("deleted", "copy"),
    "unserved": ("original", "copy", "has-it"),
    "conflict": ("original",),
    **dict.fromkeys(IMPOSSIBLE, ("silent",)),
    "unsure": ("silent", "original"),
    UNREAD: ("silent", "original"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainView:
    """How a question was resolved."""

    explanation: Explanation
    description: Description
    meant: tuple[str, ...] = ()
    """Labels that archives have, and that may have been meant."""

    @property
    def heading(self) -> str:
        """The heading of the outcome, in English."""
        return OUTCOME_TEXTS[self.explanation.case].heading


# Reasons of silent archives, as the resolver words them; the variable part is at the end.
REASONS: Final = (
    "it did not answer in time",
    "it is down",
    "it is down since %(what)s",
    "it is switched off since %(what)s",
    "it is not included",
    "it answered with an error",
    "it answered %(what)s",
    "it broke off, or does not speak HTTP",
    "it gave a URL that is not on its own host",
    "its answer was not waited for",
    "its answer makes no sense",
    "too much is asked of it at once",
    "its answer is no text",
    "its answer is compressed, which nobody asked for",
    "its answer is longer than %(what)s bytes",
    "its answer broke off",
    "its address is not one that this resolver may call",
    "its address cannot be used",
    "its name is not known",
    "its certificate is not good",
)
_VARYING: Final = re.compile(
    r"(it is down since|it is switched off since|it answered|its answer is longer than)"
    r" ([0-9A-Z:+-]{1,32})( bytes)?"
)


def translated_reason(translate: Callable[[str], str], reason: str) -> str:
    """Return a reason in the language of `translate`; empty if it is not translated."""
    varying = _VARYING.fullmatch(reason)
    known = f"{varying[1]} %(what)s{varying[3] or ''}" if varying else reason
    if known not in REASONS:
        return ""
    return translate(known) % {"what": varying[2]} if varying else translate(known)
