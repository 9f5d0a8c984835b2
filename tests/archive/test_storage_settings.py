"""Where files lie, as the settings say, and how a move writes it there."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from ibi.archive.settings import ArchiveSettings, checked, moved, rewritten
from ibi.archive.web.delivery.media_types import stored_headers
from ibi.errors import ArchiveRequestError
from ibi.model.item import File

ENDPOINT = "https://s3.example.org"


def settings(**more: str) -> ArchiveSettings:
    return ArchiveSettings(
        folder=Path("/srv/archive"),
        name="An archive",
        address="http://archive.example.org",
        host="archive.example.org",
        port=80,
        **more,  # type: ignore[arg-type]  # texts all of them
    )


@pytest.mark.parametrize(
    ("storage", "root"),
    [
        ("", "/srv/archive"),
        ("files", "/srv/archive/files"),
        ("/mnt/files", "/mnt/files"),
        ("s3://bucket", "/srv/archive"),
        ("s3://my.bucket-2/a/prefix/", "/srv/archive"),
    ],
)
def test_a_storage_is_a_folder_or_a_bucket(storage: str, root: str) -> None:
    found = checked(settings(storage=storage))
    assert found.root == Path(root)
    assert found.is_in_objects == storage.startswith("s3://")


@pytest.mark.parametrize(
    "storage",
    [
        *("s3://", "s3:///prefix", "s3://b", "s3://Bucket", "s3://bucket//a", "s3://bucket/../a"),
        *("s3://bucket/a b", "gs://bucket", "https://bucket.example.org", "a\nb"),
    ],
)
def test_no_other_storage_is_taken(storage: str) -> None:
    with pytest.raises(ArchiveRequestError, match=r"storage.*expected a folder, or s3://bucket"):
        checked(settings(storage=storage))


@pytest.mark.parametrize(
    ("storage", "endpoint"),
    [("s3://bucket", "s3.example.org"), ("s3://bucket", "https://a@b"), ("files", ENDPOINT)],
)
def test_an_endpoint_is_a_url_and_only_of_a_bucket(storage: str, endpoint: str) -> None:
    with pytest.raises(ArchiveRequestError, match="storage_endpoint"):
        checked(settings(storage=storage, storage_endpoint=endpoint))


def test_a_move_changes_the_storage_and_nothing_else() -> None:
    before = '# Ours.\nname = "An archive"\nstorage = "old" # a folder\nport = 80\n'
    after = rewritten(before, moved(settings(storage="old"), "s3://bucket/a", ENDPOINT, "sa-1"))
    assert after.endswith('# Ours.\nname = "An archive"\nport = 80\n')
    assert tomllib.loads(after) == {
        "name": "An archive",
        "port": 80,
        "storage": "s3://bucket/a",
        "storage_endpoint": ENDPOINT,
        "storage_region": "sa-1",
    }
    back = rewritten(after, moved(settings(), "/srv/archive"))
    assert back == '# Ours.\nname = "An archive"\nport = 80\n'


def test_settings_that_cannot_be_changed_by_line_are_written_anew() -> None:
    before = 'name = "An archive"\nstorage = """\nold"""\n'
    after = rewritten(before, moved(settings(), "s3://bucket"))
    read = tomllib.loads(after)
    assert (read["storage"], read["name"], read["port"]) == ("s3://bucket", "An archive", 80)


@pytest.mark.parametrize(
    ("path", "declared", "kind", "shown"),
    [
        ("a/b.pdf", "", "application/pdf", "inline"),
        ("b.png", "", "image/png", "inline"),
        ("b.svg", "", "image/svg+xml", "attachment"),
        ("b.html", "", "text/html", "attachment"),
        ("b.pdf", "text/html; charset=utf-8", "text/html; charset=utf-8", "attachment"),
        ("b.xyz", "", "application/octet-stream", "attachment"),
        ("é\r\nb", "a\r\nb: c", "application/octet-stream", "attachment"),
    ],
)
def test_what_a_browser_might_run_is_saved_when_it_comes_from_the_store(
    path: str, declared: str, kind: str, shown: str
) -> None:
    headers = stored_headers(File(path, 1, "", "", 0, declared))
    assert headers["Content-Type"] == kind
    assert headers["Content-Disposition"].partition(";")[0] == shown
    assert all(value.isprintable() and value.isascii() for value in headers.values())
