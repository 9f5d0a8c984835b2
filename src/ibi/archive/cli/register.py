"""`ibi archive register` and `ibi archive domain-record`: registration by the domain name."""

from __future__ import annotations

from typing import Any, Final

import click

from ibi.archive.cli.options import archive_options
from ibi.client.archive import RemoteArchive
from ibi.client.resolver import RemoteResolver
from ibi.errors import ArchiveRequestError, Sentence
from ibi.foundation.cli.options import json_option, show

_WAY: Final = "key"
"""The proof that is signed with the key in the record of the domain name."""


@click.command("domain-record")
@archive_options
@json_option
def domain_record(archive: RemoteArchive, *, as_json: bool) -> None:
    """Show the TXT record by which the domain name tells its archive.

    Resolvers that accept registrations find address and key of the archive in it: 'register' needs
    it, and nothing else.

    Example: ibi archive domain-record
    """
    answer = archive.ask("GET", "domain-record")
    show(answer, f'{answer["name"]}. TXT "{answer["text"]}"', as_json=as_json)


@click.command()
@click.argument("resolver")
@click.option("--administrator", required=True, metavar="EMAIL", help="Who answers for it.")
@archive_options
@json_option
def register(archive: RemoteArchive, resolver: str, *, administrator: str, as_json: bool) -> None:
    """Register the archive at a RESOLVER by its domain name, and link it.

    The domain name must have the record that 'domain-record' shows, and the resolver must accept
    registrations by proof.

    Example: ibi archive register http://urlib.net --administrator library@example.org
    """
    api = RemoteResolver(resolver, "")
    service = archive.ask("GET", "domain-record")["service_ibi"]
    begun = api.ask(
        "POST", "registrations", {"service_ibi": service, "administrator": administrator}
    )
    proof = {"resolver": api.address, "proof": _proof(begun)}
    signature = archive.ask("POST", "registration-signatures", proof)["signature"]
    shown = {"token": begun["token"], "signature": signature}
    key = api.ask("POST", "registrations/proof", shown)["registration_key"]
    archive.ask("POST", "resolvers", {"resolver": resolver, "key": key})
    answer = {"service_ibi": service, "resolver": api.address}
    show(answer, f"registered {service} at {api.address}", as_json=as_json)


def _proof(begun: dict[str, Any]) -> str:
    """Return the proof to be signed; a resolver of older software offers none."""
    for each in begun["proofs"]:
        if each["way"] == _WAY:
            return str(each["text"])
    raise ArchiveRequestError(
        Sentence("The resolver takes no proof by a key: register by another one.")
    )
