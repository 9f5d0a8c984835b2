"""Drafts of deposits: their ids, their purpose, and the fields of their form as they were typed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, TypeAlias

import msgspec

from ibi.archive.rules.deposit_request import DepositRequest
from ibi.errors import ArchiveRequestError, Sentence

PREFIX: Final = "draft"
"""The prefix of the ids of drafts, and of the deposits that have their files."""
LARGEST_FIELDS: Final = 2 << 20
"""Bytes of all fields of a form together, as JSON: a record of half a megabyte, however escaped."""
MOST_VALUES: Final = 20_000
"""The largest number of values of all fields together."""
LONGEST_COMMENT: Final = 10_000
"""Characters of the longest comment of a curator."""
LONGEST_TITLE: Final = 300
"""Characters of a title in a list of drafts."""

_KEY: Final = re.compile(r"[0-9a-f]{32}")

Fields: TypeAlias = tuple[tuple[str, str], ...]
"""The fields of a form and their texts, in their order, faulty or not."""

TARGET: Final = "target"
"""The field that names the main file."""
REMOVED: Final = "remove"
"""The field that names a file which the new files of an item replace by nothing."""
COLLECTION: Final = "collection"
"""The field that names a collection to which the item is added."""


class DraftPurpose(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What becomes of a draft: a new item, or new files for an existing one."""

    edition_of: str = ""
    """The label of the item whose next edition it becomes."""
    translation_of: str = ""
    """The label of the item whose translation it becomes."""
    item: str = ""
    """The label of the item whose files it replaces."""


def is_draft(deposit: str) -> bool:
    """Return whether a deposit is that of a draft, which only its owner may use."""
    return deposit.startswith(PREFIX)


def draft_id(key: str) -> str:
    """Return the id of a draft by the random key of its form; a form that is sent twice has one."""
    if _KEY.fullmatch(key) is None:
        raise ArchiveRequestError(Sentence("The key of a draft has 32 hexadecimal digits."))
    return f"{PREFIX}{key}"


def written(fields: Fields) -> str:
    """Return fields as JSON; raise ArchiveRequestError if they are too large to keep."""
    if len(fields) > MOST_VALUES:
        msg = Sentence("The form has more than %(most)s values.", most=MOST_VALUES)
        raise ArchiveRequestError(msg)
    try:
        text = msgspec.json.encode(fields)
    except UnicodeEncodeError:
        msg = Sentence("The form has text that is not Unicode.")
        raise ArchiveRequestError(msg) from None
    if len(text) > LARGEST_FIELDS:
        msg = Sentence(
            "The form has more than %(most)s bytes, which is all that is kept of a description.",
            most=LARGEST_FIELDS,
        )
        raise ArchiveRequestError(msg)
    return text.decode()


def read(text: str) -> Fields:
    """Return fields from JSON."""
    return msgspec.json.decode(text, type=Fields)


def values(fields: Fields, name: str) -> list[str]:
    """Return the texts of a field that are not blank."""
    return [text.strip() for field, text in fields if field == name and text.strip()]


def only(fields: Iterable[tuple[str, str]], known: frozenset[str]) -> Fields:
    """Return the fields of a form that are known, in their order."""
    return tuple((name, text) for name, text in fields if name in known)


def owner_of(caller: str) -> str:
    """Return the owner of what a caller opens: the account, if it is a token of an account."""
    return caller.partition("/")[0] if caller.startswith("@") else caller


def purpose_of(text: str) -> DraftPurpose:
    """Return the purpose of a draft from JSON."""
    return msgspec.json.decode(text, type=DraftPurpose)


def completed(request: DepositRequest, purpose: DraftPurpose, label: str) -> DepositRequest:
    """Return the request of a draft's deposit: its description, its label, and its purpose."""
    return msgspec.structs.replace(
        request,
        label=label,
        edition_of=purpose.edition_of,
        translation_of=purpose.translation_of,
    )


def check_comment(text: str) -> str:
    """Return a comment without surrounding blanks; raise if it is empty or too long."""
    text = text.strip()
    if not text:
        msg = Sentence("A comment says what is to be changed: it cannot be empty.")
        raise ArchiveRequestError(msg)
    if len(text) > LONGEST_COMMENT:
        msg = Sentence("A comment has at most %(most)s characters.", most=LONGEST_COMMENT)
        raise ArchiveRequestError(msg)
    return text
