"""The pages on which operators decide: registrations, exclusions, and conflicts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Final

from starlette.responses import Response

from ibi.errors import IbiError, LabelError, NotOnRecordError, Sentence
from ibi.foundation.accounts.site import see_other
from ibi.foundation.pages.administration import ADMIN, AdminSite, Question
from ibi.foundation.web.page_operations import PageRequest
from ibi.foundation.web.problems import problem_of
from ibi.foundation.web.request_body import number_of
from ibi.identifier.label import parse
from ibi.model.conflict import Conflict
from ibi.model.registration import ArchiveState, RegisteredArchive
from ibi.resolver.ports.store import ArchiveStore, EventChoice
from ibi.resolver.registry.registry import Registry
from ibi.resolver.search.conflicts import Conflicts
from ibi.resolver.web.admin.tabs import CONFLICTS, REGISTRATIONS
from ibi.resolver.web.registrations_api import AdministratorNotices

DECIDE: Final = f"{ADMIN}/decision"
_SHOWN: Final = 100
"""Conflicts of a page."""
_SETTLEMENTS: Final = 100
"""Settlements for an archive among which that of a conflict is looked for."""
_LONGEST_NOTE: Final = 2000
"""Characters of a note on a settlement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrationsView:
    """The registrations that wait for the operator, and the form of a new one."""

    pending: list[RegisteredArchive]
    made: RegisteredArchive | None = None
    """The archive that was just registered, whose key is shown only now."""
    key: str = field(default="", repr=False)
    filled: Mapping[str, str] = field(default_factory=dict)
    faults: Mapping[str, str] = field(default_factory=dict)

    def value(self, name: str) -> str:
        """Return what was typed into a field."""
        return self.filled.get(name, "")

    def fault(self, name: str) -> str:
        """Return the fault of a field; empty if there is none."""
        return self.faults.get(name, "")


@dataclass(frozen=True, slots=True)
class ConflictsView:
    """Conflicts, and where the next page begins."""

    conflicts: list[Conflict]
    are_all: bool
    """Whether settled ones are shown too."""
    after: int
    """The number after which the next page begins; 0 on the last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictView:
    """A conflict with its evidence, and the form by which it is settled."""

    conflict: Conflict
    archives: Mapping[str, RegisteredArchive]
    """The archives that claim the item, as they are registered now."""
    settler: str = ""
    """The name of the person or token that settled it; empty if it is open, or long ago."""
    filled: Mapping[str, str] = field(default_factory=dict)
    fault: str = ""

    @property
    def senior(self) -> str:
        """The claimant whose registration was confirmed first; empty if that is not known."""
        known = [each for each in self.archives.values() if each.seniority]
        if len(known) < len(self.archives) or len(known) < 2:  # noqa: PLR2004  # one has no rival
            return ""
        return min(known, key=lambda each: each.seniority).id


class DecisionPages:
    """Handlers of these pages."""

    def __init__(
        self,
        site: AdminSite,
        registry: Registry,
        conflicts: Conflicts,
        history: ArchiveStore,
        notices: AdministratorNotices,
    ) -> None:
        """Decide on the archives of a registry, and on its conflicts."""
        self._site = site
        self._registry = registry
        self._conflicts = conflicts
        self._history = history
        self._notices = notices

    async def registrations(self, request: PageRequest) -> Response:
        """Show the registrations that wait."""
        view = RegistrationsView(pending=self._pending())
        return self._site.page(request, "admin_registrations.html", view, REGISTRATIONS)

    def _pending(self) -> list[RegisteredArchive]:
        return [each for each in self._registry.all() if each.state is ArchiveState.PENDING]

    async def register(self, request: PageRequest) -> Response:
        """Register an archive, and show its key, once."""
        names = ("service", "administrator", "hosts")
        filled = {name: request.fields.get(name).strip() for name in names}
        status = HTTPStatus.CREATED
        try:
            made, key = await self._registry.register(
                parse(filled["service"]),
                None,
                filled["administrator"],
                tuple(filled["hosts"].split()),
                "operator",
                request.visitor.actor,
            )
            view = RegistrationsView(pending=self._pending(), made=made, key=str(key))
        except IbiError as error:
            problem, _ = problem_of(error)
            faulty = "service" if isinstance(error, LabelError) else _faulty(str(error))
            faults = {faulty: problem.detail or problem.title}
            view = RegistrationsView(pending=self._pending(), filled=filled, faults=faults)
            status = HTTPStatus(problem.status)
        return self._site.page(request, "admin_registrations.html", view, REGISTRATIONS, status)

    async def ask(self, request: PageRequest) -> Response:
        """Ask whether an archive is to be accepted, refused, excluded or removed."""
        act = request.query_params.get("act", "")
        archive = await self._archive(request.query_params.get("service", ""))
        tab = REGISTRATIONS if archive.state is ArchiveState.PENDING else ADMIN
        return self._site.ask(request, _question(act, archive, tab), tab)

    async def decide(self, request: PageRequest) -> Response:
        """Carry out the decision."""
        act, who = request.fields.get("act"), request.visitor.actor
        archive = await self._archive(request.fields.get("service"))
        if act == "accept":
            confirmed = await self._registry.confirm(archive.id, who)
            await self._notices.confirmed(confirmed)
            return see_other(REGISTRATIONS, request)
        if act == "exclude":
            await self._registry.exclude(archive.id, who)
            return see_other(ADMIN, request)
        if act == "revoke":
            await self._registry.revoke(archive.id, who)
            return see_other(ADMIN, request)
        if act not in {"refuse", "remove"}:
            raise NotOnRecordError("act", act)
        await self._registry.remove(archive.id, who)
        return see_other(REGISTRATIONS if act == "refuse" else ADMIN, request)

    async def _archive(self, text: str) -> RegisteredArchive:
        """Return an archive by its label; raise NotOnRecordError if there is none."""
        found = await self._registry.fresh(parse(text).canonical)
        if found is None:
            raise NotOnRecordError("archive", text)
        return found

    async def conflicts(self, request: PageRequest) -> Response:
        """Show conflicts, the open ones only unless all are wanted."""
        are_all = request.query_params.get("all", "") == "true"
        after = number_of(request.query_params.get("after", "0"), 0, 2**62)
        found = await self._conflicts.listed(after, _SHOWN, only_open=not are_all)
        more = found[-1].id if len(found) == _SHOWN else 0
        view = ConflictsView(found, are_all, more)
        return self._site.page(request, "admin_conflicts.html", view, CONFLICTS)

    async def conflict(self, request: PageRequest) -> Response:
        """Show a conflict with its evidence."""
        conflict = await self._conflict(request)
        settler = await asyncio.to_thread(self._settler, conflict)
        view = replace(self._view(conflict), settler=settler)
        return self._site.page(request, "admin_conflict.html", view, CONFLICTS)

    def _view(
        self, conflict: Conflict, filled: Mapping[str, str] | None = None, fault: str = ""
    ) -> ConflictView:
        found = {claim.archive: self._registry.find(claim.archive) for claim in conflict.claims}
        archives = {name: archive for name, archive in found.items() if archive is not None}
        return ConflictView(conflict=conflict, archives=archives, filled=filled or {}, fault=fault)

    def _settler(self, conflict: Conflict) -> str:
        """Return the actor of the settlement, which stands in the history."""
        if conflict.is_open:
            return ""
        choice = EventChoice(act="settle", archive=conflict.owner)
        for event in self._history.newest_events(0, _SETTLEMENTS, choice):
            if event.at == conflict.settled and f"conflict {conflict.id}," in event.detail:
                return event.who
        return ""

    async def ask_settlement(self, request: PageRequest) -> Response:
        """Ask whether a conflict is to be settled so; what is wrong is said beside the form."""
        conflict = await self._conflict(request)
        filled = {name: request.fields.get(name).strip() for name in ("owner", "note")}
        fault = _fault(conflict, filled)
        if fault:
            view = self._view(conflict, filled, fault)
            return self._site.page(
                request, "admin_conflict.html", view, CONFLICTS, HTTPStatus.BAD_REQUEST
            )
        question = Question(
            title=Sentence("Settle conflict %(number)s?", number=conflict.id),
            consequences=(
                Sentence("The Original of %(label)s is in this archive:", label=conflict.label),
                filled["owner"],
                Sentence("Readers are led there from now on, whatever other archives claim."),
                Sentence("A wrong settlement is corrected by another one."),
            ),
            act=Sentence("Settle the conflict"),
            path=f"{CONFLICTS}/{conflict.id}/settlement",
            fields=filled,
            back=f"{CONFLICTS}/{conflict.id}",
        )
        return self._site.ask(request, question, CONFLICTS)

    async def settle(self, request: PageRequest) -> Response:
        """Settle a conflict."""
        conflict = await self._conflict(request)
        filled = {name: request.fields.get(name).strip() for name in ("owner", "note")}
        try:
            owner = parse(filled["owner"]).canonical
            await self._conflicts.settle(
                conflict.id, owner, request.visitor.actor, filled["note"][:_LONGEST_NOTE]
            )
        except IbiError as error:
            problem, _ = problem_of(error)
            view = self._view(conflict, filled, problem.detail or problem.title)
            status = HTTPStatus(problem.status)
            return self._site.page(request, "admin_conflict.html", view, CONFLICTS, status)
        return see_other(f"{CONFLICTS}/{conflict.id}", request)

    async def _conflict(self, request: PageRequest) -> Conflict:
        text = request.path_params["number"]
        number = number_of(text, 1, 2**62)
        found = await self._conflicts.listed(number - 1, 1, only_open=False)
        if not found or found[0].id != number:
            raise NotOnRecordError("conflict", text)
        return found[0]


def _faulty(message: str) -> str:
    """Return the field that a message is shown beside."""
    if "e-mail" in message:
        return "administrator"
    return "hosts" if "host" in message else "service"


def _fault(conflict: Conflict, filled: Mapping[str, str]) -> str:
    if filled["owner"] not in {claim.archive for claim in conflict.claims}:
        return Sentence("Choose the archive that has the Original.")
    if len(filled["note"]) > _LONGEST_NOTE:
        return Sentence("A note has at most %(most)s characters.", most=_LONGEST_NOTE)
    return ""


def _question(act: str, archive: RegisteredArchive, back: str) -> Question:
    """Return the question for an act; raise NotOnRecordError if there is no such act."""
    label = archive.service.spelling
    questions: dict[str, tuple[str, tuple[str, ...], str]] = {
        "accept": (
            Sentence("Accept the archive %(label)s?", label=label),
            (
                Sentence("It can announce itself with its key, and is then asked for items."),
                Sentence("Its administrator gets a message, if a mail server is set."),
            ),
            Sentence("Accept the archive"),
        ),
        "refuse": (
            Sentence("Refuse the archive %(label)s?", label=label),
            (
                Sentence("Its registration is removed, and its key with it."),
                Sentence("Its administrator can ask again."),
            ),
            Sentence("Refuse the archive"),
        ),
        "exclude": (
            Sentence("Exclude the archive %(label)s?", label=label),
            (
                Sentence("It is asked for nothing until it announces itself again."),
                Sentence("It usually does so within an hour: revoke its key to keep it away."),
            ),
            Sentence("Exclude the archive"),
        ),
        "revoke": (
            Sentence("Revoke the key of the archive %(label)s?", label=label),
            (
                Sentence("It can announce itself no more, until it gets another key."),
                Sentence("Its registration stays."),
            ),
            Sentence("Revoke the key"),
        ),
        "remove": (
            Sentence("Remove the archive %(label)s?", label=label),
            (
                Sentence("Its registration and its key are gone, and its items are not found."),
                Sentence("It can be registered again, with another key."),
            ),
            Sentence("Remove the archive"),
        ),
    }
    if act not in questions:
        raise NotOnRecordError("act", act)
    title, consequences, name = questions[act]
    fields = {"service": archive.service.spelling, "act": act}
    return Question(
        title=title,
        consequences=consequences,
        act=name,
        path=DECIDE,
        fields=fields,
        back=back,
    )
