"""Under which keys an archive lies in an object store: those that are paths in a folder."""

from __future__ import annotations

from typing import Final

from ibi.archive.fixity import MANIFEST
from ibi.errors import FileNameError

LONGEST_KEY: Final = 1024
"""Bytes of UTF-8 that S3 takes, with the prefix of all keys."""


def doc(place: str, path: str) -> str:
    """Return the key of a file of an item."""
    return f"col/{place}/doc/{path}"


def old(change: str, place: str, path: str) -> str:
    """Return the key of a file that was replaced by a change."""
    return f"col/{place}/old/{change}/{path}"


def manifest(place: str) -> str:
    """Return the key of the manifest of an item."""
    return f"col/{place}/{MANIFEST}"


def intent(change: str) -> str:
    """Return the key of what says what a change is about to bring."""
    return f"incoming/change-{change}/intent.json"


def waiting(change: str, number: int) -> str:
    """Return the key of a file that will replace another."""
    return f"incoming/change-{change}/{number}"


def journal(change: str) -> str:
    """Return the key of the line that decides a change."""
    return f"journal/{change}.json"


def check_key(place: str, path: str, longest: int = LONGEST_KEY) -> None:
    """Refuse a file that can have no key; it must fit where it is kept once it is replaced, too.

    `check_path` has been here before for whatever comes from outside: this is the second lock.
    """
    if {"", ".", ".."} & set(path.split("/")):
        raise FileNameError(path, "it is not a name")
    if len(old("0" * 32, place, path).encode()) > longest:
        raise FileNameError(path, "it is too long for an object store")
