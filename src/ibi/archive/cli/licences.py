"""`ibi archive license`: sets the networks from which the files of items may be read."""

from __future__ import annotations

from urllib.parse import quote

import click

from ibi.archive.cli.options import archive_options
from ibi.archive.rules.access import networks as read_networks
from ibi.client.archive import RemoteArchive
from ibi.foundation.cli.options import json_option, show


@click.command("license")
@click.argument("items", metavar="IBI...", nargs=-1, required=True)
@click.option("--network", "networks", multiple=True, metavar="N", help="10.0.0.0/8, 2001:db8::/32")
@click.option("--everybody", is_flag=True, help="Allow all networks.")
@archive_options
@json_option
def license_items(
    archive: RemoteArchive,
    items: tuple[str, ...],
    *,
    networks: tuple[str, ...],
    everybody: bool,
    as_json: bool,
) -> None:
    """Set the networks from which the files of the items IBI... may be read.

    They replace all earlier networks of the items. The metadata of an item stay public.

    Example: ibi archive license IBI --network 10.0.0.0/8 --network 2001:db8::/32
    """
    if bool(networks) == everybody:
        raise click.UsageError(
            "Say who may read them: --network N, as often as needed, or --everybody."
        )
    readers = list(read_networks(networks))  # before the first item is changed
    for ibi in items:
        item = archive.ask("PATCH", f"items/{quote(ibi, safe='')}", {"readers": readers})
        label = item["rep"] or item["ibip"]
        show(item, f"{label}\t{' '.join(item.get('readers', [])) or 'everybody'}", as_json=as_json)
