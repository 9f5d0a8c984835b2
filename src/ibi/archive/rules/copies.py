"""Rules of Copies: which items may become one, be updated as one, or be dropped."""

from __future__ import annotations

from dataclasses import replace

from ibi.archive.rules.transfer import check_droppable as check_not_transferred
from ibi.errors import DeletedError, Sentence, StateError
from ibi.identifier.label import Label
from ibi.model.item import File, Item, State


def as_copy(item: Item, origin: str, before: Item | None) -> Item:
    """Return an item of another archive as this archive stores it: the same, but a Copy."""
    return replace(
        item,
        state=State.COPY,
        origin=origin,
        transfer=None,
        # This archive keeps its own record of the transfers by which it once had the Original.
        custody=() if before is None else before.custody,
        # A new Copy brings its collections along; from then on this archive decides on them.
        collections=item.collections if before is None else before.collections,
    )


def is_like(theirs: tuple[Item, tuple[File, ...]], ours: tuple[Item, tuple[File, ...]]) -> bool:
    """Return whether another archive has a Copy of a local item, with the same files."""
    return (
        theirs[0].state is State.COPY
        and theirs[0].forms.names(ours[0].forms)
        and {_bytes_of(file) for file in theirs[1]} == {_bytes_of(file) for file in ours[1]}
    )


def _bytes_of(file: File) -> tuple[str, str, str]:
    return file.path, file.sha256, file.sha512


def check_copyable(before: Item | None) -> None:
    """Raise unless the local item, if there is one, is a Copy that may be overwritten."""
    if before is None:
        return
    label = before.forms.label
    if before.kind == "service":
        msg = Sentence("%(label)s is the service of this archive: it has no copies.", label=label)
        raise StateError(msg)
    if before.state is State.ORIGINAL:
        msg = Sentence(
            "%(label)s is the Original in this archive: it is not copied over.", label=label
        )
        raise StateError(msg)
    if before.state is State.DELETED:
        raise DeletedError(str(label))
    if before.transfer is not None:
        msg = Sentence("%(label)s is being transferred: it is not copied meanwhile.", label=label)
        raise StateError(msg)


def check_same(before: Item, item: Item) -> None:
    """Raise unless a foreign item is the same item as the local one, spelled the same.

    The label is the name of the item's folder: another spelling would leave its files behind.
    """
    here, label = before.forms.label, item.forms.label
    if here != label:
        msg = Sentence("%(label)s names another item here, %(here)s.", label=label, here=here)
        raise StateError(msg)
    if here.spelling != label.spelling:
        msg = Sentence(
            "%(label)s is spelled otherwise here, %(here)s: it keeps its spelling.",
            label=label,
            here=here,
        )
        raise StateError(msg)
    if before.kind != item.kind:
        msg = Sentence(
            "%(label)s is %(kind)s here, and not %(other)s.",
            label=label,
            kind=before.kind,
            other=item.kind,
        )
        raise StateError(msg)
    if before.describes and item.describes and not before.describes.names(item.describes):
        msg = Sentence(
            "%(label)s describes another item here, %(other)s.",
            label=label,
            other=before.describes.label,
        )
        raise StateError(msg)


def check_asked(known: Item | None, before: Item | None, asked: Label, address: str) -> None:
    """Raise if the answer of an archive would change a local item that was not asked for."""
    if before is None or (known is not None and known.forms.label == before.forms.label):
        return
    msg = Sentence(
        "%(address)s says that %(asked)s is %(label)s, which is here without that name: copy it by "
        "its own label.",
        address=address,
        asked=asked,
        label=before.forms.label,
    )
    raise StateError(msg)


def check_offered(item: Item, address: str) -> None:
    """Raise if the other archive has only a Copy and was not named as the source."""
    if item.state is not State.ORIGINAL:
        msg = Sentence(
            "%(address)s has %(label)s only as a Copy: name that archive if its Copy will do, or "
            "the one that has the Original.",
            address=address,
            label=item.forms.label,
        )
        raise StateError(msg)


def check_droppable(item: Item, label: Label) -> None:
    """Raise unless the item is a Copy that may be dropped."""
    if item.state is State.DELETED:
        raise DeletedError(str(label))
    if item.state is not State.COPY:
        msg = Sentence(
            "%(label)s is the Original: only a Copy is let go of, and this is deleted if at all.",
            label=label,
        )
        raise StateError(msg)
    check_not_transferred(item)
