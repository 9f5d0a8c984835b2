"""All that can happen to one item that archives transfer, built on the rules of the program.

A state of the world is what each archive has durably (its item, and its rows of exchanges) and
every message that was ever sent: a message may come at any time, as often as it likes, or never.
Each transition is what one archive does up to a crash: an act that writes twice may end after the
first. So whatever a process only remembers is forgotten at any moment.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from ibi.archive.rules import transfer as rules
from ibi.archive.rules.transfer import Step
from ibi.archive.rules.transfer_messages import Commit, Message, TransferOffer, TransferReply, Undo
from ibi.errors import StateError
from ibi.model.item import Item, State
from tests.support.scenes.small_archive import forms

ITEM = Item(forms=forms(1))

Will: TypeAlias = Literal["all", "undo", "none"]
"""What people may want: new transfers and lost catalogues too, to undo, or nothing at all."""
Row: TypeAlias = tuple[str, str, str]
"""Id, role, state."""


@dataclass(frozen=True, slots=True)
class Local:
    """What one archive has."""

    item: Item | None
    rows: frozenset[Row] = frozenset()

    def row(self, id_: str) -> Row | None:
        """Return what its catalogue knows of a transfer."""
        return next((row for row in self.rows if row[0] == id_), None)

    def with_row(self, id_: str, role: str, state: str) -> Local:
        """Return it with that known of a transfer."""
        others = {row for row in self.rows if row[0] != id_}
        return replace(self, rows=frozenset(others | {(id_, role, state)}))


@dataclass(frozen=True, slots=True)
class Letter:
    """A message or an answer, to an archive."""

    to: int
    id: str
    what: Message | TransferReply


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of the program; twins break one of them."""

    step: Callable[[Item | None, str, TransferReply, bool], Step] = rules.step
    handed: Callable[[Item, str, str, int], Item] = rules.handed
    accepted: Callable[[Item, str], Item] = rules.accepted
    answer_to_commit: Callable[[Item | None, str, str], TransferReply] = rules.answer_to_commit
    check_droppable: Callable[[Item], None] = rules.check_droppable
    check_receivable: Callable[[Item | None, str], None] = rules.check_receivable
    hasty: bool = False
    """Whether the giver commits before it has handed over."""
    selfish: bool = False
    """Whether the giver takes back what it handed over without asking."""
    one_receipt: bool = False
    """Whether a receiver is ready by the same receipt every time."""


Reaction: TypeAlias = tuple[int, tuple[tuple[int, int], ...]]
"""What is said without a change, as bits; and what may follow: a local, and bits."""
World: TypeAlias = tuple[tuple[int, ...], int, tuple[str, ...], tuple[int, ...]]
"""Locals by number, letters by bits, transfers begun, and how often each was ready."""


@dataclass(slots=True)
class Model:
    """Archives 0, 1, 2... of which the first has the Original."""

    archives: int
    most_transfers: int
    copies: frozenset[int] = frozenset()
    """Archives that have a Copy at first."""
    rules: Rules = field(default_factory=Rules)
    most_ready: int = 2
    routes: frozenset[tuple[int, int]] | None = None
    """Who may offer to whom; everybody to everybody if None."""
    rebuilds: bool = True
    """Whether catalogues are lost."""
    refusals: bool = True
    """Whether somebody before the receiver may refuse an offer: it takes the giver's token away, or
    is another service by now."""
    tickets: bool = False
    """Whether a giver lets an item be read only while it offers it; if not, a receiver may have
    read it at any other time."""
    _locals: list[Local] = field(default_factory=list)
    _number_of: dict[Local, int] = field(default_factory=dict)
    letters: list[Letter] = field(default_factory=list)
    _bit_of: dict[Letter, int] = field(default_factory=dict)
    _heard: dict[tuple[int, int], list[tuple[int, int]]] = field(default_factory=dict)
    _alone: dict[tuple[int, int, Will], list[tuple[int, int]]] = field(default_factory=dict)
    _mail: list[int] = field(default_factory=lambda: [0] * 8)
    """By archive, the bits of letters to it."""
    _reactions: dict[tuple[int, int, int, Will], Reaction] = field(default_factory=dict)

    # --- numbers instead of values, so that a million states fit and compare quickly ---

    def number(self, local: Local) -> int:
        """Return the number of a local."""
        if local not in self._number_of:
            self._number_of[local] = len(self._locals)
            self._locals.append(local)
        return self._number_of[local]

    def bit(self, letter: Letter) -> int:
        """Return the bit of a letter."""
        if letter not in self._bit_of:
            self._bit_of[letter] = len(self.letters)
            self.letters.append(letter)
            self._mail[letter.to] |= 1 << self._bit_of[letter]
        return 1 << self._bit_of[letter]

    # --- the world ---

    def first(self) -> World:
        """Return the world in which nothing has happened."""
        copy = replace(ITEM, state=State.COPY, origin="archive 0")
        found = [
            Local(ITEM if n == 0 else copy if n in self.copies else None)
            for n in range(self.archives)
        ]
        return tuple(map(self.number, found)), 0, (), ()

    def locals(self, world: World) -> list[Local]:
        """Return what each archive has."""
        return [self._locals[number] for number in world[0]]

    def explore(self) -> Iterator[World]:
        """Go through every world that can come of the first.

        To have sent a message harms nobody who would not have sent it: it need not come. So all
        that can be said in a world is said, and of two worlds that differ by letters alone the one
        with fewer is left out: whatever can follow it can follow the other.
        """
        most: dict[tuple[object, ...], list[int]] = {}
        waiting = deque([self._talked(self.first(), "all")])
        while waiting:
            world = waiting.popleft()
            where, net, begun, ready = world
            nets = most.setdefault((where, begun, ready), [])
            if any(net | known == known for known in nets):
                continue
            nets[:] = [known for known in nets if known | net != net] + [net]
            yield world
            waiting.extend({self._talked(each, "all") for each in self.next(world, "all")})

    def path_to_end(self, world: World, will: Will, known: set[World]) -> bool:
        """Tell whether all transfers can end, although all letters so far were lost.

        Worlds without letters of which that is known are added to those that are given.
        """
        where, _, begun, ready = world
        first: World = (where, 0, begun, ready)
        came_from: dict[World, World] = {}
        waiting, seen = deque([first]), {first}
        while waiting:
            here = waiting.popleft()
            where, _, begun, ready = here
            if self.is_ended(here) or (where, 0, begun, ready) in known:
                while here != first:
                    known.add((here[0], 0, here[2], here[3]))
                    here = came_from[here]
                known.add(first)
                return True
            for after in self.next(self._talked(here, will), will):
                if after not in seen:
                    seen.add(after)
                    came_from[after] = here
                    waiting.append(after)
        return False

    def is_ended(self, world: World) -> bool:
        """Tell whether no transfer is under way, nor a row left open."""
        return not any(
            (local.item is not None and local.item.transfer is not None)
            or any(state == "open" for _, _, state in local.rows)
            for local in self.locals(world)
        )

    def _talked(self, world: World, will: Will) -> World:
        """Return the world in which everything is sent that can be."""
        where, net, begun, ready = world
        before = -1
        while before != net:
            before = net
            for at, number in enumerate(where):
                net |= self._reaction(at, number, net & self._mail[at], will)[0]
        return where, net, begun, ready

    def next(self, world: World, will: Will) -> Iterator[World]:
        """Return the worlds that can follow."""
        where, net, begun, ready = world
        for at, number in enumerate(where):
            _, changes = self._reaction(at, number, net & self._mail[at], will)
            for after, sent in changes:
                yield _put(where, at, after), net | sent, begun, ready
            yield from self._pulling(world, at)
            if will == "all":
                yield from self._offering(world, at)

    def _reaction(self, at: int, number: int, mail: int, will: Will) -> Reaction:
        """Return what an archive says by itself and to its mail, and how it may be changed."""
        key = (at, number, mail, will)
        if key not in self._reactions:
            outcomes = self._doing(at, number, will)
            while mail:
                bit = mail & -mail
                mail ^= bit
                outcomes = outcomes + self._evidence(number, bit)
            said = 0
            for after, sent in outcomes:
                said |= sent if after == number else 0
            changes = tuple({each for each in outcomes if each[0] != number})
            self._reactions[key] = said, changes
        return self._reactions[key]

    def _offering(self, world: World, at: int) -> Iterator[World]:
        where, net, begun, ready = world
        if len(begun) == self.most_transfers:
            return
        local = self._locals[where[at]]
        for to in range(self.archives):
            if to == at or (self.routes is not None and (at, to) not in self.routes):
                continue
            id_ = f"{len(begun)}:{at}>{to}"
            try:
                assert local.item is not None
                rules.check_transferable(local.item)
            except (StateError, AssertionError):
                continue
            noted = local.with_row(id_, "giving", "open")
            made = replace(noted, item=rules.offered(local.item, id_, f"archive {to}", 0))
            for after in (noted, made):
                yield _put(where, at, self.number(after)), net, (*begun, id_), (*ready, 0)

    def _pulling(self, world: World, at: int) -> Iterator[World]:
        """A receiver pulls, and is ready; or finds that it cannot be, and refuses."""
        where, net, begun, ready = world
        local = self._locals[where[at]]
        for id_, role, state in local.rows:
            if role != "receiving" or state != "open" or rules.standing(local.item, id_):
                continue
            try:
                self.rules.check_receivable(local.item, id_)
            except StateError:
                after = local.with_row(id_, "receiving", "undone")
                yield _put(where, at, self.number(after)), net, begun, ready
                continue
            giver, _ = _parties(id_)
            nth = begun.index(id_)
            source = self._locals[where[giver]].item
            closed = self.tickets and (source is None or not _has_part(source, id_))
            if source is None or closed or ready[nth] == self.most_ready:
                after = local.with_row(id_, "receiving", "undone")
                yield _put(where, at, self.number(after)), net, begun, ready
                continue
            receipt = f"{id_}#{0 if self.rules.one_receipt else ready[nth]}"
            item = rules.received(source, local.item, id_, f"archive {giver}", receipt, 0)
            counted = _put(ready, nth, ready[nth] + 1)
            yield _put(where, at, self.number(replace(local, item=item))), net, begun, counted

    # --- what an archive does by itself ---

    def _doing(self, at: int, number: int, will: Will) -> list[tuple[int, int]]:
        key = (at, number, will)
        if key not in self._alone:
            found = [*self._acting(self._locals[number], will)]
            self._alone[key] = [
                (self.number(after), sum(map(self.bit, {*sent}))) for after, sent in found
            ]
        return self._alone[key]

    def _acting(self, local: Local, will: Will) -> Iterator[tuple[Local, list[Letter]]]:
        for id_, role, state in local.rows:
            if state == "open" and role == "giving":
                yield from self._driving(local, id_, will)
            if state == "open" and role == "receiving":
                yield from self._minding(local, id_, will)
        if will == "all" and self.rebuilds:
            rebuilt = None if local.item is None else rules.exchange_of(local.item)
            rows = {(rebuilt.id, rebuilt.role, "open")} if rebuilt else set()
            yield replace(local, rows=frozenset(rows)), []
        if will == "all" and local.item is not None and local.item.state is State.COPY:
            try:
                self.rules.check_droppable(local.item)
            except StateError:
                return
            yield replace(local, item=None), []

    def _driving(self, local: Local, id_: str, will: Will) -> Iterator[tuple[Local, list[Letter]]]:
        """The giver says what it has to say; or its administrator wants it undone."""
        giver, to = _parties(id_)
        offer = TransferOffer(id=id_, label="", source=f"archive {giver}", ticket="")
        for undo in (False, True) if will != "none" else (False,):
            yield local, [Letter(to, id_, rules.message(local.item, offer, undo=undo))]
        item = local.item
        if item is None or item.transfer is None or not _has_part(item, id_) or will == "none":
            return
        if item.transfer.phase == "offered" or self.rules.selfish:
            made = replace(local, item=rules.taken_back(item, id_))
            yield made, []
            if will == "all" and self.refusals:
                yield made.with_row(id_, "giving", "undone"), []

    def _minding(self, local: Local, id_: str, will: Will) -> Iterator[tuple[Local, list[Letter]]]:
        """The receiver puts right a row that a crash left; or its administrator wants it undone."""
        if rules.answer_to_undo(local.item, id_, "").state == "accepted":
            yield local.with_row(id_, "receiving", "done"), []
        elif will != "none":
            for after in self._undone(local, id_):
                yield after, []

    # --- what an archive does when it hears something ---

    def _evidence(self, number: int, bit: int) -> list[tuple[int, int]]:
        if (number, bit) not in self._heard:
            letter = self.letters[bit.bit_length() - 1]
            found = [*self._answering(self._locals[number], letter)]
            self._heard[number, bit] = [
                (self.number(after), sum(map(self.bit, {*sent}))) for after, sent in found
            ]
        return self._heard[number, bit]

    def _answering(self, local: Local, letter: Letter) -> Iterator[tuple[Local, list[Letter]]]:
        giver, _ = _parties(letter.id)

        def reply(answer: TransferReply) -> list[Letter]:
            return [Letter(giver, letter.id, answer)]

        match letter.what:
            case TransferOffer(id=id_):
                *halfway, known = self._replaced(local, id_)
                yield from ((after, []) for after in halfway)
                after, answer = self._offered(known, id_)
                yield after, reply(answer) if answer else []
            case Commit(id=id_, receipt=receipt):
                answer = self.rules.answer_to_commit(local.item, id_, receipt)
                if answer.state == "accepted" and local.item is not None:
                    made = replace(local, item=self.rules.accepted(local.item, id_))
                    yield made, []
                    yield made.with_row(id_, "receiving", "done"), reply(answer)
                else:
                    yield local, reply(answer)
            case Undo(id=id_, receipt=receipt):
                answer = rules.answer_to_undo(local.item, id_, receipt)
                if answer.state == "undone":
                    *halfway, whole = self._undone(local, id_)
                    yield from ((after, []) for after in halfway)
                    yield whole, reply(answer)
                else:
                    yield local, reply(answer)
            case TransferReply() as answer:
                yield from self._told(local, letter.id, answer)

    def _replaced(self, local: Local, id_: str) -> list[Local]:
        """A giver that offers an item anew does not come back to what it offered before."""
        known = None if local.item is None else local.item.transfer
        giver, _ = _parties(id_)
        row = local.row(id_)
        if known is None or (row is not None and row[2] != "open"):
            return [local]
        if rules.is_replaced(known, id_, f"archive {giver}"):
            return self._undone(local, known.id)
        return [local]

    def _offered(self, local: Local, id_: str) -> tuple[Local, TransferReply | None]:
        known = rules.standing(local.item, id_)
        if known is not None:
            return local, known
        row = local.row(id_)
        if row is not None and row[2] != "open":
            return local, TransferReply(state="refused")
        try:
            self.rules.check_receivable(local.item, id_)
        except StateError:
            return local.with_row(id_, "receiving", "undone"), TransferReply(state="refused")
        return local.with_row(id_, "receiving", "open"), None

    @staticmethod
    def _undone(local: Local, id_: str) -> list[Local]:
        """The item first, then the row, which refuses a late offer: the last one is whole."""
        item = local.item
        known = rules.standing(item, id_)
        made = local
        if item is not None and known is not None and known.state == "ready":
            made = replace(local, item=rules.released(item, id_))
        return [made, made.with_row(id_, "receiving", "undone")]

    def _told(
        self, local: Local, id_: str, answer: TransferReply
    ) -> Iterator[tuple[Local, list[Letter]]]:
        item = local.item
        match self.rules.step(item, id_, answer, True):  # noqa: FBT003  # what is there is whole
            case "hand over":
                assert item is not None
                _, to = _parties(id_)
                commit = Letter(to, id_, Commit(id=id_, label="", receipt=answer.receipt))
                if self.rules.hasty:
                    yield local, [commit]
                yield replace(local, item=self.rules.handed(item, id_, answer.receipt, 0)), []
            case "finish":
                assert item is not None
                made = replace(local, item=rules.finished(item, id_))
                yield made, []
                yield made.with_row(id_, "giving", "done"), []
            case "take back":
                assert item is not None
                made = replace(local, item=rules.taken_back(item, id_))
                yield made, []
                if rules.is_over(item, id_, answer):
                    yield made.with_row(id_, "giving", "undone"), []
            case "wait":
                if local.row(id_) == (id_, "giving", "open") and rules.is_over(item, id_, answer):
                    ended = "done" if answer.state == "accepted" else "undone"
                    yield local.with_row(id_, "giving", ended), []


def _put(values: tuple[int, ...], at: int, value: int) -> tuple[int, ...]:
    return (*values[:at], value, *values[at + 1 :])


def _parties(id_: str) -> tuple[int, int]:
    giver, to = id_.partition(":")[2].split(">")
    return int(giver), int(to)


def _has_part(item: Item | None, id_: str) -> bool:
    return item is not None and item.transfer is not None and item.transfer.id == id_
