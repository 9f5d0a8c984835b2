"""Tokens that expire, by the HTTP API of a running archive."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

from tests.support.servers.archive import ArchiveServer
from tests.support.servers.program import refused
from tests.support.waiting import PATIENCE, wait_until


def test_a_token_with_days_expires(tmp_path: Path) -> None:
    with ArchiveServer(tmp_path) as archive:
        expire(archive)


def expire(archive: ArchiveServer) -> None:
    made = archive.api("POST", "tokens", {"name": "guest", "scope": "read", "days": 30})
    assert made.status == 201
    token = made.json()
    created, expires = (datetime.fromisoformat(token[name]) for name in ("created", "expires"))
    assert expires - created == timedelta(days=30)
    listed = archive.api("GET", "tokens").json()["tokens"]
    assert [each.get("expires", "") for each in listed if each["name"] == "guest"] == [
        token["expires"]
    ]
    assert all("expires" not in each for each in listed if each["name"] != "guest")
    assert archive.api("GET", "items", token=token["secret"]).status == 200
    # Its time comes.
    with closing(sqlite3.connect(archive.data / "catalogue.sqlite", timeout=PATIENCE)) as database:
        database.execute(
            "UPDATE archive_token SET digest = substr(digest, 1, 65) || '1' WHERE name = 'guest'"
        )
        database.commit()
    wait_until(lambda: archive.api("GET", "items", token=token["secret"]).status == 401)
    for days in (-1, 3651, "x"):
        body = {"name": "never", "scope": "read", "days": days}
        refused(archive.api("POST", "tokens", body), 400, "bad-request")
    assert archive.api("DELETE", "tokens/guest").status == 204
