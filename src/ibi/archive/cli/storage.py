"""`ibi archive move-store`: moves the files of an archive to another store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ibi.archive.cli.options import archive_options
from ibi.archive.cli.tasks import follow
from ibi.client.archive import RemoteArchive
from ibi.errors import printable
from ibi.foundation.cli.instance_folder import made
from ibi.foundation.cli.options import json_option, show, typed_options


@click.command("move-store")
@click.argument("new_storage", metavar="NEW_STORAGE")
@click.option("--endpoint", default="", help="The URL of an object store other than Amazon S3.")
@click.option("--region", default="", help="The region of the bucket.")
@archive_options
@json_option
def move_store(
    archive: RemoteArchive, new_storage: str, *, endpoint: str, region: str, as_json: bool
) -> None:
    """Move all files to NEW_STORAGE, a folder or s3://bucket/prefix, while the archive serves.

    Credentials of an object store are those in the environment of the archive, never in its
    settings. The old store is left as it is. An interrupted move is resumed, also by the same
    command.

    Example: ibi archive move-store s3://archive/files --endpoint https://s3.example.org
    """
    if "://" not in new_storage and "address" not in typed_options("address"):
        new_storage = str(_folder(new_storage))
    wanted = {"storage": new_storage, "endpoint": endpoint, "region": region}
    task = follow(archive, archive.ask("POST", "storage", wanted), "Items")
    result = task["result"]
    show(result, _summary(result), as_json=as_json)


def _folder(given: str) -> Path:
    """Return a folder of this machine, created if it does not exist."""
    folder = Path(given).absolute()
    with made(folder, "a storage"):
        return folder


def _summary(result: dict[str, Any]) -> str:
    moved = ", ".join(f"{result[name]} {name}" for name in ("items", "files", "bytes"))
    lines = [
        *(f"damaged before it was moved: {key}" for key in result["damaged"]),
        f"moved {moved} to {result['to']}",
        f"The files in {result['from']} are left as they are: remove them when you are sure.",
    ]
    return "\n".join(map(printable, lines))
