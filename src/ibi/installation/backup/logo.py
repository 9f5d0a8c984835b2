"""The logo of an instance in a backup: its content, and where a restored instance has it."""

from __future__ import annotations

import hashlib
import re
from contextlib import suppress
from pathlib import Path
from typing import Final

from ibi.foundation.pages.identity import LARGEST_LOGO, image_type
from ibi.foundation.system.disk import disk_errors
from ibi.installation.backup.backup import LOGO
from ibi.installation.backup.files import BackupTree
from ibi.installation.backup.record import read_sums

# A path in other folders, or one of a file of ours, is never written to.
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,60}\.(?:svg|png|webp|jpe?g)")


def logo_in(backup: Path, part: str) -> bytes:
    """Return the logo of a part; empty if there is none that a page may show."""
    place = backup / part / LOGO
    with disk_errors(str(place)), suppress(FileNotFoundError):
        if place.stat().st_size <= LARGEST_LOGO:
            content = b"".join(BackupTree(backup).pieces(f"{part}/{LOGO}"))
            return content if image_type(content) else b""
    return b""


def logo_place(source: Path, name: str) -> str:
    """Return where a restored instance has its logo: in its folder, if the backup has one."""
    return LOGO if (source / LOGO).exists() and not _NAME.fullmatch(name) else name


def restore_logo(backup: Path, part: str, folder: Path, name: str) -> None:
    """Write the logo into a folder, if the backup has one that is as it was backed up."""
    listed = (digest for path, digest in read_sums(backup) if path == f"{part}/{LOGO}")
    content = logo_in(backup, part)
    if content and hashlib.sha256(content).hexdigest() == next(listed, ""):
        BackupTree(folder).write_text(name, content)
