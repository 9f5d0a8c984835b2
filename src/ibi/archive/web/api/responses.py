"""Conversion of the values of an archive to the messages of its API."""

from __future__ import annotations

from collections.abc import Callable

from ibi.archive.archive import ItemWithMetadata
from ibi.archive.ports.catalogue import Reservation
from ibi.archive.ports.deposits import Deposit
from ibi.archive.ports.file_store import Staged
from ibi.archive.ports.maintenance import HolderRecord
from ibi.archive.rules.announcement import Link
from ibi.archive.web.api.messages import (
    DepositAnswer,
    FileAnswer,
    HolderAnswer,
    ItemAnswer,
    Labels,
    LinkAnswer,
    ReservationAnswer,
    StagedAnswer,
    TombstoneAnswer,
)
from ibi.identifier.instant import Instant
from ibi.metadata.json_record import record_as_dict
from ibi.model.clock import SECOND
from ibi.model.item import File, Item, State
from ibi.model.label_pair import Forms


def moment(nanoseconds: int) -> str:
    """Return a time as ISO 8601, to the second."""
    return Instant(nanoseconds // SECOND).iso8601


def labels(forms: Forms | None) -> Labels | None:
    """Return the labels of an item; None if there is none."""
    return None if forms is None else Labels(*pair(forms))


def pair(forms: Forms) -> tuple[str, str]:
    """Return both labels, with an empty text for a missing one."""
    rep = "" if forms.rep is None else forms.rep.spelling
    ibip = "" if forms.ibip is None else forms.ibip.spelling
    return rep, ibip


def file_answer(file: File) -> FileAnswer:
    """Return a file as a message."""
    modified = moment(file.modified)
    return FileAnswer(file.path, file.size, file.sha256, file.sha512, modified, file.media_type)


def item_answer(
    look: ItemWithMetadata,
    persistent: Callable[[Forms], str],
    url: str,
    files: list[File] | None = None,
) -> ItemAnswer:
    """Return an item with its metadata as a message."""
    item: Item = look.item
    tombstone = item.tombstone
    return ItemAnswer(
        *pair(item.forms),
        persistent_url=persistent(item.forms),
        state=str(item.state),
        kind=item.kind,
        created=moment(item.created),
        updated=moment(item.updated),
        url=url,
        language=str(item.language or ""),
        target=item.target,
        target_chosen=item.target_chosen,
        service=item.runs_at,
        transferable=item.transferable,
        list_public=item.list_public,
        readers=list(item.readers),
        platform_software=labels(item.platform_software),
        origin=item.origin,
        transfer="" if item.transfer is None else item.transfer.id,
        custody=list(item.custody),
        further_names=[name.spelling for name in item.further_names],
        metadata=labels(item.metadata),
        describes=labels(item.describes),
        record=None if look.record is None else record_as_dict(look.record),
        previous_edition=labels(item.previous_edition),
        next_edition=labels(item.next_edition),
        translations={str(language): Labels(*pair(forms)) for language, forms in item.translations},
        collections=[Labels(*pair(forms)) for forms in item.collections],
        tombstone=None
        if tombstone is None
        else TombstoneAnswer(
            moment(tombstone.deleted),
            tombstone.who,
            tombstone.reason,
            labels(tombstone.replaced_by),
        ),
        files=[file_answer(file) for file in files or ()],
    )


def holder_answer(holder: HolderRecord, item: Item) -> HolderAnswer:
    """Return another archive that holds an item as a message."""
    is_origin = item.state is State.COPY and holder.address == item.origin
    state = State.ORIGINAL if is_origin else State.COPY
    seen = moment(holder.seen) if holder.seen else ""
    return HolderAnswer(holder.address, str(state), holder.name, seen)


def staged_answer(staged: Staged) -> StagedAnswer:
    """Return a file of an open deposit as a message."""
    file = staged.file
    return StagedAnswer(staged.path, staged.size, file is not None, file.sha256 if file else "")


def deposit_answer(deposit: Deposit, staged: list[Staged], stored: int = 0) -> DepositAnswer:
    """Return a deposit as a message."""
    files = [staged_answer(each) for each in staged]
    return DepositAnswer(deposit.id, moment(deposit.opened), deposit.completed, files, stored)


def reservation_answer(reservation: Reservation) -> ReservationAnswer:
    """Return a reservation as a message."""
    return ReservationAnswer(
        *pair(reservation.forms), moment(reservation.reserved), reservation.note
    )


def link_answer(link: Link, service: Forms, *, with_key: bool = False) -> LinkAnswer:
    """Return a link as a message; with the key only if it was just made."""
    return LinkAnswer(
        link.resolver,
        link.state,
        moment(link.since),
        service.label.spelling,
        str(link.key) if with_key else "",
        link.failures,
        link.reason,
    )
