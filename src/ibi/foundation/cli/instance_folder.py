"""The folder of an instance: how it is made, and how its settings are written."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ibi.errors import RequestError, shown
from ibi.foundation.system.instance_lock import token_of
from ibi.foundation.web.tokens import digest
from ibi.model.token import Token


def is_utf8(text: str) -> bool:
    """Return whether a path is UTF-8: databases, settings and answers cannot contain others."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@contextmanager
def made(place: Path, thing: str) -> Iterator[None]:
    """Make a folder; the caller then makes an instance in it."""
    if not is_utf8(str(place)):
        msg = f"Cannot make {thing} in {shown(str(place))}: its path is not UTF-8."
        raise RequestError(msg)
    try:
        # Only its owner may read it: it contains keys and tokens.
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        yield
    except OSError as failure:
        msg = f"Cannot make {thing} in {shown(str(place))}: {failure.strerror or failure}."
        raise RequestError(msg) from None


def refuse_used(
    folder: Path, database: str, tokens: Callable[[], Iterable[Token]], advice: str
) -> None:
    """Raise RequestError if another instance uses a database: its tokens would be lost.

    A database in the folder itself is the instance's own, and so is one that has the folder's
    token: the instance was being made here when that was interrupted.
    """
    if Path(database).resolve().is_relative_to(folder.resolve()):
        return
    known = {token.digest for token in tokens()}
    if known and digest(token_of(folder)) not in known:
        raise RequestError(f"This database is in use, and its tokens would be lost: {advice}.")


def keep(path: Path, text: str) -> None:
    """Write settings atomically; they may contain the password of a database."""
    new = path.with_suffix(".new")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(descriptor)
    new.replace(path)
