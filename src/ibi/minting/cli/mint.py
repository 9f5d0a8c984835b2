"""The command `ibi mint`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import click
import msgspec

from ibi.foundation.cli.options import json_lines_option, refuse_closed_output, typed_options
from ibi.minting.cli.options import subsystem_options
from ibi.minting.label_binding import LabelBindings, MintOrder
from ibi.minting.rules.granularity import AUTO, check_count
from ibi.minting.settings import MinterSettings
from ibi.minting.wiring import minter_of, remote_pool

if TYPE_CHECKING:
    from ibi.minting.rules.label_generator import Minted

_BATCH: Final = 10_000
_SLOW: Final = 2_000_000_000
"""Nanoseconds that a batch takes at least to show a progress bar."""

_EXAMPLES: Final = """
\b
Examples:
  ibi mint --host mtc-m19.sid.inpe.br
  ibi mint -n 1000 --host mtc-m19.sid.inpe.br --ip 150.163.34.243 > labels.tsv
  ibi mint --host archive.example.org --reserve --json
  ibi mint --minter http://127.0.0.1:8810 --token ibi_...
"""


@click.command(epilog=_EXAMPLES)
@click.option("-n", "--count", type=int, default=1, show_default=True, help="How many labels.")
@subsystem_options
@click.option(
    "--granularity",
    default=AUTO,
    show_default=True,
    metavar="R",
    help="Seconds between two labels at least: auto, 60, 1, 0.1, 0.01 and so on.",
)
@click.option("--key", default="", help="The same key gets the same labels again.")
@click.option("--target", default="", help="Bind the label to this, for good.")
@click.option("--reserve", is_flag=True, help="Remember the labels, to be bound later.")
@click.option(
    "--minter",
    "minters",
    multiple=True,
    metavar="URL",
    help="Mint by way of a minting service; of several, any that answers.",
)
@click.option("--token", default="", envvar="IBI_TOKEN", help="The token for --minter.")
@json_lines_option
def mint(  # noqa: PLR0913  # one argument an option
    settings: MinterSettings,
    *,
    count: int,
    granularity: str,
    key: str,
    target: str,
    reserve: bool,
    minters: tuple[str, ...],
    token: str,
    as_json: bool,
) -> None:
    """Mint labels: one line each, the repository name, a tab, and the IBIp.

    A form whose host or address is not given is left empty. No label is ever given out twice, by
    this or any other process with the same ledger.
    """
    refuse_closed_output()
    order = MintOrder(count, key, target, reserve)
    if minters:
        if order.is_recorded or typed_options(*_OWN):
            message = "--minter goes with --count and --token only: the rest is the service's own."
            raise click.UsageError(message)
        batches = _from_services(minters, token, count)
    else:
        batches = _from_ledger(replace(settings, granularity=granularity), order)
    for labels in batches:
        for label in labels:
            click.echo(_line(label) if as_json else str(label))
        # A reader of a pipe gets each batch at once.
        sys.stdout.flush()


_OWN: Final = (
    "host",
    "port",
    "ip",
    "ip_port",
    "allow_private",
    "clock_behind",
    "clock_ahead",
    "ledger",
    "granularity",
)
"""Options of a local minter."""


def _from_ledger(settings: MinterSettings, order: MintOrder) -> Iterator[list[Minted]]:
    with minter_of(settings) as minter:
        if order.is_recorded:
            yield LabelBindings(minter).issue(order)
            return
        batch = min(_BATCH, minter.at_once())
        duration = order.count * minter.granularity.nanoseconds if batch < order.count else 0
        yield from _batches(order.count, batch, minter.mint_many, slow=duration > _SLOW)


def _from_services(minters: tuple[str, ...], token: str, count: int) -> Iterator[list[Minted]]:
    check_count(count)
    with remote_pool(minters, token) as pool:
        yield from _batches(count, _BATCH, pool.mint_many, slow=count > _BATCH)


def _batches(
    count: int, batch: int, mint_many: Callable[[int], list[Minted]], *, slow: bool
) -> Iterator[list[Minted]]:
    # On a terminal the labels themselves show the progress.
    shown = slow and not sys.stdout.isatty() and sys.stderr is not None and sys.stderr.isatty()
    bar = click.progressbar(
        length=count, label="Minting", file=sys.stderr if shown else None, hidden=not shown
    )
    with bar:
        for start in range(0, count, batch):
            labels = mint_many(min(batch, count - start))
            bar.update(len(labels))
            yield labels


def _line(label: Minted) -> str:
    facts = {"rep": label.rep, "ibip": label.ibip, "instant": label.instant.iso8601}
    kept = {name: value for name, value in facts.items() if value is not None}
    return msgspec.json.encode(kept).decode()
