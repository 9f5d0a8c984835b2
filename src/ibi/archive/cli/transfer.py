"""`ibi archive transfer`, `transfers`: transfer Originals to other archives, list transfers."""

from __future__ import annotations

import sys
import time
from collections import deque
from typing import Any, Final

import click

from ibi.archive.cli.options import archive_options
from ibi.client.archive import RemoteArchive
from ibi.errors import ArchiveError, ArchiveRefusedError, printable
from ibi.foundation.cli.confirmation import confirm, yes_option
from ibi.foundation.cli.options import is_terminal, json_option, show
from ibi.model.clock import SECOND
from ibi.model.pace import Backoff

_LOOKS: Final = Backoff(SECOND // 10, 2 * SECOND, factor=1.2)
"""Pauses between two requests for the state of transfers."""
_CONFLICT: Final = 409
_SHOWN: Final = 3
"""Items that were not transferred and are named in the error."""
_AT_ONCE: Final = 1000
"""Transfers that one request begins."""
_AT_A_LOOK: Final = 50
"""Requests between two pauses: an archive answers that many in a second."""


@click.command()
@click.argument("items", metavar="IBI...", nargs=-1, required=True)
@click.option("--to", required=True, metavar="ARCHIVE", help="The address of the other archive.")
@click.option(
    "--to-token",
    default="",
    envvar="IBI_TO_TOKEN",
    help="A token of the other archive, of the scope receive.",
)
@click.option("--wait/--no-wait", default=True, help="Wait for their end.  [default: wait]")
@yes_option
@archive_options
@json_option
def transfer(  # noqa: PLR0913  # one argument an option
    archive: RemoteArchive,
    items: tuple[str, ...],
    *,
    to: str,
    to_token: str,
    wait: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Transfer the Originals of the items IBI to another archive; a Copy of each stays here.

    The administrator of the other archive agrees by a token: 'ibi archive token add NAME --scope
    receive'. If this is interrupted, the archives continue; see 'ibi archive transfers'.

    Example: ibi archive transfer IBI --to http://archive.example.org --to-token TOKEN
    """
    wanted = list(dict.fromkeys(items))
    what = f"the Original of {wanted[0]}" if len(wanted) == 1 else f"{len(wanted)} Originals"
    confirm(f"Transfer {what} to {to}? Copies stay here.", yes=yes)
    begun = _begun(archive, wanted, to, to_token)
    ended = _followed(archive, begun) if wait else begun
    for each in ended:
        if each["state"] != "undone":
            show(each, _line(each), as_json=as_json)
    _raise_undone([each for each in ended if each["state"] == "undone"], len(ended))


def _begun(
    archive: RemoteArchive, items: list[str], to: str, to_token: str
) -> list[dict[str, Any]]:
    """Begin to transfer items, each once, in several requests if there are many."""
    begun: dict[str, dict[str, Any]] = {}
    for first in range(0, len(items), _AT_ONCE):
        body = {"items": items[first : first + _AT_ONCE], "to": to, "token": to_token}
        try:
            found = archive.ask("POST", "transfers", body)["transfers"]
        except ArchiveError:
            if begun:
                msg = f"{len(begun)} were begun, and go on: see 'ibi archive transfers'."
                click.echo(msg, err=True)
            raise
        begun |= {each["id"]: each for each in found}
    return list(begun.values())


def _followed(archive: RemoteArchive, begun: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Wait until all have ended, and show what delays them."""
    ended: dict[str, dict[str, Any]] = {}
    waiting = deque(each["id"] for each in begun)
    said: set[str] = set()
    idle = 0
    with click.progressbar(
        length=len(begun), label="Transferring", file=sys.stderr, hidden=not is_terminal()
    ) as bar:
        while waiting:
            before = len(waiting)
            for _ in range(min(before, _AT_A_LOOK)):
                found = archive.insist("GET", f"transfers/{waiting[0]}")
                _say(found, said)
                if found["state"] == "open":
                    waiting.rotate(-1)
                    continue
                ended[waiting.popleft()] = found
                bar.update(1)
            idle = idle + 1 if len(waiting) == before else 0
            time.sleep(_LOOKS.wait(idle) / SECOND if waiting else 0)
    return [ended[each["id"]] for each in begun]


def _say(found: dict[str, Any], said: set[str]) -> None:
    fault = found.get("fault", "")
    if found["state"] == "open" and fault and fault not in said:
        said.add(fault)
        click.echo(printable(f"waiting: {fault}"), err=True)


def _raise_undone(undone: list[dict[str, Any]], count: int) -> None:
    if not undone:
        return
    faults = [f"{each['item']}: {each.get('fault', '')}" for each in undone[:_SHOWN]]
    more = f" And {len(undone) - _SHOWN} more." if len(undone) > _SHOWN else ""
    what = "It was not transferred" if count == 1 else f"{len(undone)} of {count} stay here"
    raise ArchiveRefusedError(_CONFLICT, printable(f"{what}. {' '.join(faults)}{more}"))


@click.command()
@click.option("--undo", default="", metavar="ID", help="Undo this one.")
@click.option("--resume", default="", metavar="ID", help="Continue this one now.")
@click.option(
    "--to-token",
    default="",
    envvar="IBI_TO_TOKEN",
    help="A token of the other archive, if --resume needs another.",
)
@click.option(
    "--to", default="", metavar="ARCHIVE", help="Its new address, if --resume needs that."
)
@click.option("--open", "only_open", is_flag=True, help="Only those that have not ended.")
@archive_options
@json_option
def transfers(  # noqa: PLR0913  # one argument an option
    archive: RemoteArchive,
    *,
    undo: str,
    resume: str,
    to_token: str,
    to: str,
    only_open: bool,
    as_json: bool,
) -> None:
    """List the newest transfers, to other archives and from them; or undo one of them.

    A transfer can be undone until the other archive has the Original. If that archive does not
    answer after the hand-over, the transfer waits: only it can tell whether it accepted. If it has
    a new address, --resume continues there.

    Example: ibi archive transfers --undo ID
    """
    if undo and resume:
        raise click.UsageError("A transfer is undone or goes on, not both.")
    if to and not resume:
        raise click.UsageError("Say with --resume which transfer goes on there.")
    if undo:
        found = [archive.ask("DELETE", f"transfers/{undo}")]
    elif resume:
        given = {"token": to_token, "to": to}
        body = {name: value for name, value in given.items() if value}
        found = [archive.ask("POST", f"transfers/{resume}", body)]
    else:
        query = {"limit": str(_AT_ONCE), **({"state": "open"} if only_open else {})}
        found = archive.ask("GET", "transfers", query=query)["transfers"]
    for each in found:
        show(each, _line(each), as_json=as_json)


def _line(each: dict[str, Any]) -> str:
    way = "to" if each["role"] == "giving" else "from"
    parts = [each["id"], each["phase"], each["item"], f"{way} {each['peer']}"]
    if each["state"] == "open" and each.get("total"):
        parts.append(f"{each.get('done', 0)} of {each['total']} bytes")
    if each.get("fault"):
        parts.append(each["fault"])
    return printable("  ".join(parts))
