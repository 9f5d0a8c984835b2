"""`ibi archive init`, `serve` and `rebuild`: create and run an archive, rebuild its catalogue."""

from __future__ import annotations

import socket
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import click

from ibi.archive.cli.options import ARCHIVE, folder_of, folder_option, original_option
from ibi.archive.recovery import rebuild as rebuilding
from ibi.archive.rules.scopes import SCOPES
from ibi.archive.settings import (
    LOCAL_HOST,
    ArchiveSettings,
    checked,
    label_host,
    missing_for_linking,
    read_archive,
)
from ibi.archive.wiring.instance import Instance
from ibi.archive.wiring.people import administrator_link
from ibi.archive.wiring.restored_start import check_restored
from ibi.archive.wiring.stores import open_catalogue
from ibi.foundation.cli.instance_commands import (
    first_token,
    new_instance,
    refuse_existing,
    serve_instance,
    show_made,
)
from ibi.foundation.cli.instance_folder import refuse_used
from ibi.foundation.cli.options import (
    is_terminal,
    json_option,
    refuse_closed_output,
)
from ibi.foundation.processes.server import address_of, run
from ibi.foundation.system import instance_lock
from ibi.foundation.system.clock import SystemClock
from ibi.foundation.web.tokens import Tokens
from ibi.identifier import ibip
from ibi.metadata.json_record import record_from
from ibi.model.token import Token

_LOCAL = "http://archive.localhost:8801"


@click.command()
@folder_option
@click.option("--name", default="An IBI archive", show_default=True, help="A name for people.")
@click.option("--address", default=_LOCAL, show_default=True, help="The public URL of the archive.")
@click.option("--host", default="", help="The domain name in labels.  [default: that of --address]")
@click.option("--ip", default="", help="Its public IP address, for labels in the short form.")
@click.option(
    "--ip-port",
    type=int,
    help="The port in the short form.  [default: 800; that of --address without a domain name]",
)
@click.option("--administrator", default="", help="The e-mail address of a person.")
@click.option(
    "--platform-software", default="", metavar="IBI", help="The software that runs the archive."
)
@click.option("--logo", default="", metavar="FILE", help="An image: SVG, PNG, WebP or JPEG.")
@click.option("--accent", default="", metavar="COLOUR", help="The colour of pages, as #1351b4.")
@click.option("--contact", default="", help="An e-mail address or a URL, on every page.")
@click.option("--imprint", default="", metavar="TEXT", help="A text, or the URL of a page.")
@click.option(
    "--publisher", default="", help="The publisher of items that name none.  [default: --name]"
)
@click.option("--listen", default="127.0.0.1:8801", show_default=True, help="Where to serve HTTP.")
@click.option(
    "--storage",
    default="",
    help="A folder for the files, or s3://bucket/prefix.  [default: that of --data]",
)
@click.option("--storage-endpoint", default="", help="The URL of an object store.")
@click.option("--storage-region", default="", help="The region of its bucket.")
@click.option(
    "--catalogue", default="", help="A postgresql:// URL.  [default: SQLite in that of --data]"
)
@click.option("--ledger", default="", help="The same for the ledger of labels.")
@click.option("--allow-private", is_flag=True, help="Allow an IP address that is not public.")
@click.option("--forget-replaced", is_flag=True, help="Do not keep the bytes of replaced files.")
@json_option
def init(folder: Path | None, *, as_json: bool, **options: str | int | bool | None) -> None:
    """Create an archive in the folder DATA: its settings, its catalogue, its own item.

    The label of the archive service is minted here. A token with all scopes is shown once.

    Example: ibi archive init --name "My archive" --address http://archive.example.org
    """
    given = folder or ARCHIVE.usual_folder()
    settings = checked(_settings(given, options))
    _check_logo(settings)
    refuse_existing(ARCHIVE, given)
    # Checked before anything is written: refused settings leave nothing behind.
    record = record_from({"titles": [settings.name], "types": ["Service"]})
    database = settings.place(settings.catalogue)
    refuse_used(settings.folder, database, partial(_tokens, settings), "name another")
    with new_instance(ARCHIVE, settings), _opened(settings) as opened:
        service = opened.archive.create_service(record, settings.administrator or "init")
        secret = first_token(settings.folder, opened.catalogue.tokens, SystemClock(), SCOPES)
        link = administrator_link(opened, "init")
    facts = {
        "archive": str(given),
        "service": str(service.forms.label),
        "token": secret,
        "administrator": link,
    }
    show_made(facts, as_json=as_json)
    if settings.host == LOCAL_HOST:
        text = f"Labels are minted under {LOCAL_HOST}: good for a try only."
        click.echo(text, err=True)


def _check_logo(settings: ArchiveSettings) -> None:
    if settings.logo:
        from ibi.foundation.pages.identity import check_logo  # noqa: PLC0415  # it takes a while

        check_logo(settings, partial(click.echo, err=True))


def _tokens(settings: ArchiveSettings) -> list[Token]:
    with closing(open_catalogue(settings)) as catalogue:
        return catalogue.tokens.tokens()


def _settings(folder: Path, options: dict[str, str | int | bool | None]) -> ArchiveSettings:
    address = str(options["address"])
    try:
        parts = urlsplit(address.lower())
        host, port = parts.hostname or "", parts.port
    except ValueError:  # it is not a URL, which `checked` reports
        parts, host, port = urlsplit(""), "", None
    named = str(options["host"]) or label_host(host)
    port = port or (443 if parts.scheme == "https" else 80)
    # Without a domain name of its own, several archives of a machine differ by their ports alone.
    usual = port if named == LOCAL_HOST else ibip.DEFAULT_PORT
    ip, catalogue, ledger = (str(options[name]) for name in ("ip", "catalogue", "ledger"))
    return ArchiveSettings(
        folder=folder.absolute(),
        name=str(options["name"]),
        address=address,
        host=named,
        port=port,
        ip=ip,
        ip_port=usual if options["ip_port"] is None else int(options["ip_port"]),
        administrator=str(options["administrator"]),
        platform_software=str(options["platform_software"]),
        logo=str(Path(str(options["logo"])).absolute()) if options["logo"] else "",
        accent=str(options["accent"]),
        contact=str(options["contact"]),
        imprint=str(options["imprint"]),
        publisher=str(options["publisher"]),
        listen=str(options["listen"]),
        storage=str(options["storage"]),
        storage_endpoint=str(options["storage_endpoint"]),
        storage_region=str(options["storage_region"]),
        catalogue=catalogue or "catalogue.sqlite",
        ledger=ledger or "ledger.sqlite",
        allow_private=bool(options["allow_private"]),
        keep_replaced=not options["forget_replaced"],
    )


@contextmanager
def _opened(settings: ArchiveSettings) -> Iterator[Instance]:
    with closing(Instance(settings)) as opened:
        yield opened


@click.command()
@ARCHIVE.serve_options
@original_option
def serve(folder: Path | None, *, listen: str, workers: int | None, original_is_gone: bool) -> None:
    """Run the archive in the folder DATA, until SIGINT or SIGTERM.

    The API is described at /openapi.json. Several workers are replaced one by one at SIGHUP. An
    archive that was restored from a backup does not start while another instance of it answers.

    Example: ibi archive serve --data /srv/archive --workers 4
    """
    refuse_closed_output()
    settings = read_archive(folder_of(folder).absolute())
    say = partial(click.echo, err=True)

    def check() -> None:
        _check_logo(settings)
        check_restored(settings, say, original_is_gone=original_is_gone)

    serve_instance(settings, listen, workers, _serve_alone, _serve_together, check)


def _serve_together(folder: Path, listener: socket.socket, workers: int) -> None:
    from ibi.archive.wiring.workers import serve_together  # noqa: PLC0415  # it takes a while

    serve_together(folder, listener, workers)


def _serve_alone(settings: ArchiveSettings, listener: socket.socket) -> None:
    from ibi.archive.wiring.app import archive_app  # noqa: PLC0415  # it takes a while

    address = address_of(listener)
    missing = missing_for_linking(settings)
    with _opened(settings) as opened:
        app, announcer = archive_app(opened)

        def ready() -> None:
            click.echo(f"ready archive={address}")
            if not missing:
                announcer.start()
            elif opened.catalogue.links.all():
                click.echo(missing, err=True)

        with instance_lock.serving(settings.folder, address):
            run(app, listener, ready, announcer.stop)


@click.command()
@folder_option
def rebuild(folder: Path | None) -> None:
    """Rebuild the catalogue from the files: items, their names and reserved labels.

    Items of the catalogue that have no files are removed. Tokens, history, statistics, tasks and
    links to resolvers, which only the catalogue has, are kept if it still has them. An interrupted
    rebuild can be started again.

    Example: ibi archive rebuild --data /srv/archive
    """
    settings = read_archive(folder_of(folder).absolute())
    with (
        instance_lock.held(settings.folder),
        _opened(settings) as opened,
        click.progressbar(
            rebuilding.rebuild(opened.archive),
            label="Items",
            show_pos=True,
            file=sys.stderr,
            hidden=not is_terminal(),
        ) as items,
    ):
        faults = Counter(item.fault for item in items)
        lost = not opened.catalogue.tokens.tokens()
        if lost:
            tokens = Tokens(opened.catalogue.tokens, SystemClock(), SCOPES)
            instance_lock.keep_token(settings.folder, tokens.add("local", "administer"))
    click.echo(f"rebuilt {faults.pop('', 0)} items")
    if lost:
        text = (
            "Tokens and links to resolvers were lost with the catalogue. Commands on this machine "
            "work again; make the others' tokens anew by 'ibi archive token add', and link by "
            "'ibi archive link RESOLVER --key KEY' with the key that the resolver knows."
        )
        click.echo(text, err=True)
    for fault in faults:
        click.echo(fault, err=True)
    if faults:
        raise click.exceptions.Exit(1)
