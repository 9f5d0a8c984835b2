"""Where the files of an archive lie, as its settings say: in a folder, or in an object store."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from typing import Final

import msgspec

from ibi.settings.archive import OBJECTS, ArchiveSettings, checked
from ibi.settings.file import written

_NAMES: Final = ("storage", "storage_endpoint", "storage_region")
_LINE: Final = re.compile(rf"[ \t]*(?:{'|'.join(_NAMES)})[ \t]*=")


def moved(
    settings: ArchiveSettings, storage: str, endpoint: str = "", region: str = ""
) -> ArchiveSettings:
    """Return the settings of the same archive with its files elsewhere."""
    own = storage and not storage.startswith(OBJECTS) and settings.folder / storage
    if own == settings.folder:
        storage = ""  # as it is written if nobody says otherwise
    return checked(
        replace(settings, storage=storage, storage_endpoint=endpoint, storage_region=region)
    )


def rewritten(text: str, settings: ArchiveSettings) -> str:
    """Return a file of settings with the storage of others; what else stands there stays.

    If that cannot be done line by line, all of it is written anew.
    """
    wanted = {name: getattr(settings, name) for name in _NAMES if getattr(settings, name)}
    lines = [line for line in text.splitlines(keepends=True) if not _LINE.match(line)]
    # At the top: a name that stands below a heading belongs to it.
    new = "".join([*(f"{name} = {_string(value)}\n" for name, value in wanted.items()), *lines])
    before = tomllib.loads(text)
    expected = {name: value for name, value in before.items() if name not in _NAMES} | wanted
    try:
        return new if tomllib.loads(new) == expected else written(settings)
    except tomllib.TOMLDecodeError:
        return written(settings)


def _string(value: str) -> str:
    return msgspec.json.encode(value).decode()  # TOML reads what JSON writes
