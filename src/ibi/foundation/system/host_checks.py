"""Checks of the machine and the folder of a program: its disks, files and names.

Nothing here changes anything.
"""

from __future__ import annotations

import os
import shutil
import socket
import time
from collections.abc import Iterable, Iterator, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from ibi.errors import Sentence
from ibi.model.finding import Finding, Verdict

_OTHERS: Final = 0o077
"""Permissions of users other than the owner."""
_LITTLE: Final = 1 << 30
_TOO_LITTLE: Final = 100 << 20
_SKEW: Final = 60.0
"""Seconds by which files may seem to come from the future."""
_NAMES_OF_THIS_MACHINE: Final = "localhost"


def mode_of(path: Path) -> int | None:
    """Return the permissions of a file; None if it is not accessible."""
    try:
        return path.stat().st_mode & 0o777
    except OSError:
        return None


def addresses_of(host: str) -> tuple[str, ...]:
    """Return the IP addresses of a name; none if it cannot be resolved."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return ()
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in found))


def folder_findings(part: str, folder: Path, secrets: Sequence[str]) -> Iterator[Finding]:
    """Check that nobody else reads the folder of a program; `secrets` are names of files in it."""
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        text = Sentence("%(folder)s may not be written", folder=folder)
        yield Finding(part, "folder", "failure", text, Sentence("change its owner"))
        return
    names = (*secrets, *sorted(path.name for path in folder.glob("*.sqlite*")))
    open_ = [name for name in names if (mode_of(folder / name) or 0) & _OTHERS]
    if open_:
        text = Sentence("others may read %(names)s", names=" and ".join(open_))
        paths = " ".join(str(folder / name) for name in open_)
        advice = Sentence("chmod 600 %(paths)s, and make new tokens", paths=paths)
        yield Finding(part, "folder", "failure", text, advice)
    elif (mode_of(folder) or 0) & _OTHERS:
        text = Sentence("others may look into %(folder)s", folder=folder)
        yield Finding(part, "folder", "warning", text, f"chmod 700 {folder}")
    else:
        text = Sentence("%(folder)s, for its owner alone", folder=folder)
        yield Finding(part, "folder", "ok", text)
    newest = max((each.stat().st_mtime for each in folder.iterdir()), default=0.0)
    if newest > time.time() + _SKEW:
        text = Sentence("files are dated later than now: the clock was set back, or is behind")
        yield Finding(part, "clock", "warning", text, Sentence("look at the clock"))


def disk_findings(part: str, folders: Iterable[Path]) -> Iterator[Finding]:
    """Check that there is room on the disks of folders."""
    for folder in sorted({*folders}):
        try:
            free = shutil.disk_usage(folder).free
        except OSError as failure:
            text = Sentence("%(folder)s: %(reason)s", folder=folder, reason=failure.strerror)
            yield Finding(part, "disk", "failure", text, Sentence("mount it"))
            continue
        free_gib = f"{free / _LITTLE:.1f}"
        text = Sentence("%(free)s GiB free in %(folder)s", free=free_gib, folder=folder)
        if free >= _LITTLE:
            yield Finding(part, "disk", "ok", text)
        else:
            verdict: Verdict = "warning" if free >= _TOO_LITTLE else "failure"
            yield Finding(part, "disk", verdict, text, Sentence("make room"))


def name_findings(part: str, hosts: Iterable[str], own_ip: str, file: str) -> Iterator[Finding]:
    """Look names up; `own_ip` is the setting `ip` of a file, empty if it has none."""
    for host in sorted({*hosts}):
        if _is_ip(host):
            continue
        if host.endswith(_NAMES_OF_THIS_MACHINE):
            text = Sentence("%(host)s is good for a try only", host=host)
            yield Finding(part, "name", "warning", text)
            continue
        found = addresses_of(host)
        if not found:
            text = Sentence("%(host)s cannot be resolved", host=host)
            yield Finding(part, "name", "failure", text, Sentence("make a DNS record for it"))
        elif own_ip and own_ip not in found:
            text = Sentence(
                "%(host)s is %(addresses)s, and `ip` in %(settings)s is %(ip)s",
                host=host,
                addresses=", ".join(found),
                settings=file,
                ip=own_ip,
            )
            advice = Sentence("one of them is wrong, or there is NAT")
            yield Finding(part, "name", "warning", text, advice)
        else:
            text = Sentence("%(host)s is %(addresses)s", host=host, addresses=", ".join(found))
            yield Finding(part, "name", "ok", text)


def _is_ip(host: str) -> bool:
    try:
        return bool(ip_address(host))
    except ValueError:
        return False
