"""Options for the prefixes under which to mint, and for the place of the ledger."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import click

from ibi.identifier import ibip, repository_name
from ibi.minting.rules.reservation import ReservationLimits
from ibi.minting.settings import MinterSettings
from ibi.model.clock import SECOND

P = ParamSpec("P")
R = TypeVar("R")

_LIMITS = ReservationLimits()

_LEDGER = click.option(
    "--ledger",
    default="",
    metavar="PATH",
    envvar="IBI_LEDGER",
    help="The ledger: a file, or a postgresql:// URL. Usually ~/.local/share/ibi/ledger.sqlite.",
)

_OPTIONS = (
    click.option(
        "--host",
        metavar="NAME",
        envvar="IBI_HOST",
        help="The domain name that repository names are built on.",
    ),
    click.option(
        "--port",
        type=int,
        default=repository_name.DEFAULT_PORT,
        show_default=True,
        help="The port that goes with the host.",
    ),
    click.option(
        "--ip", metavar="ADDR", envvar="IBI_IP", help="The IP address that IBIps are built on."
    ),
    click.option(
        "--ip-port",
        type=int,
        default=ibip.DEFAULT_PORT,
        show_default=True,
        help="The port that goes with the address.",
    ),
    click.option(
        "--allow-private",
        is_flag=True,
        help="Mint under an address that is not public; others may make the same labels.",
    ),
    click.option(
        "--clock-behind",
        type=click.IntRange(0, 3600),
        default=_LIMITS.behind // SECOND,
        show_default=True,
        metavar="SECONDS",
        help="Wait for a clock so far behind the last label; refuse one further behind.",
    ),
    click.option(
        "--clock-ahead",
        type=click.IntRange(1, 315_576_000),
        default=_LIMITS.ahead // SECOND,
        show_default=True,
        metavar="SECONDS",
        help="Refuse a clock that jumped so far ahead, until it is confirmed.",
    ),
    _LEDGER,
)


def ledger_option(command: Callable[P, R]) -> Callable[P, R]:
    """Add the option --ledger to a command."""
    return _LEDGER(command)


def subsystem_options(
    command: Callable[Concatenate[MinterSettings, P], R],
) -> Callable[P, R]:
    """Add the options of a subsystem; the command gets them as settings, its first argument."""

    @wraps(command)
    def with_settings(*args: Any, **options: Any) -> R:  # noqa: ANN401  # what click hands over
        names = ("host", "port", "ip", "ip_port", "allow_private", "ledger")
        limits = ReservationLimits(
            behind=options.pop("clock_behind") * SECOND, ahead=options.pop("clock_ahead") * SECOND
        )
        settings = MinterSettings(**{name: options.pop(name) for name in names}, limits=limits)
        return command(settings, *args, **options)

    decorated: Callable[P, R] = with_settings
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated
