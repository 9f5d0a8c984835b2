"""Backups as a forger leaves them: changed, with checksums that fit again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from ibi.installation.backup.record import BackupRecord


def reseal(backup: Path) -> None:
    """Compute all checksums of a backup again, so that what was changed agrees with itself."""
    record: dict[str, Any] = json.loads((backup / "backup.json").read_bytes())
    for part, known in record["parts"].items():
        for store, stored in known["stores"].items():
            for table, file in stored["tables"].items():
                text = (backup / part / store / f"{table}.jsonl").read_bytes()
                file.update(rows=text.count(b"\n"), sha256=hashlib.sha256(text).hexdigest())
    sums = backup / "SHA256SUMS"
    listed = [line.split("  ", 1)[1] for line in sums.read_text("utf-8").splitlines()]
    found = {path.relative_to(backup).as_posix() for path in backup.rglob("*") if path.is_file()}
    found -= {"backup.json", "SHA256SUMS"}
    names = [name for name in listed if name in found] + sorted(found - set(listed))
    lines = [
        f"{hashlib.sha256((backup / name).read_bytes()).hexdigest()}  {name}\n" for name in names
    ]
    sums.write_text("".join(lines), encoding="utf-8")
    record["sums"] = hashlib.sha256(sums.read_bytes()).hexdigest()
    record["checksum"] = msgspec.convert(record, BackupRecord).own_checksum()
    (backup / "backup.json").write_text(json.dumps(record), encoding="utf-8")


def change_record(backup: Path, change: Callable[[dict[str, dict[str, Any]]], None]) -> None:
    """Change the tables of the archive in the record, by database; `reseal` completes it."""
    path = backup / "backup.json"
    record: dict[str, Any] = json.loads(path.read_bytes())
    stores = record["parts"]["archive"]["stores"]
    change({name: stored["tables"] for name, stored in stores.items()})
    path.write_text(json.dumps(record), encoding="utf-8")
