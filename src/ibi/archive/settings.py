"""The settings of an archive: the file `archive.toml` in its folder."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal, get_args

import msgspec

from ibi.archive.rules.adoption import AdoptablePrefixes
from ibi.archive.rules.scopes import ROLE_SCOPES
from ibi.errors import ArchiveRequestError, LabelError, RequestError, shown
from ibi.foundation import settings_file
from ibi.foundation.accounts.openid_settings import openid_checks
from ibi.foundation.pages.identity_settings import identity_checks
from ibi.foundation.settings_file import (
    DESTINATIONS,
    MAX_WORKERS,
    NETWORKS,
    are_destinations,
    are_networks,
    is_address,
    is_mail_address,
    is_place,
    place_of,
    place_to_listen,
    raising,
    refuse_bad,
    written,
)
from ibi.identifier import ibip
from ibi.identifier.instant import Instant
from ibi.identifier.label import parse
from ibi.identifier.limits import MAX_PORT
from ibi.identifier.repository_name import RepositoryName
from ibi.minting.rules.granularity import AUTO, parse_granularity
from ibi.minting.rules.subsystem import Subsystem
from ibi.minting.settings import MinterSettings

ARCHIVE_FILE: Final = "archive.toml"
LOCAL_HOST: Final = "archive.localhost"
"""The host of labels where no domain name is known, for trying the program out."""
Landing = Literal["auto", "standard", "page"]
"""`auto`: the page if browsers do not show the target; `standard`: never; `page`: always."""
LANDINGS: Final = get_args(Landing)
DELIVERIES: Final = ("proxied", "presigned")
MailLanguage = Literal["en", "pt"]
"""The languages of messages."""
OBJECTS: Final = "s3://"

_BUCKET: Final = re.compile(
    r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](?:/[^/\s\x00-\x1f]{1,255}){0,20}/?"
)
_ENDPOINT: Final = re.compile(r"https?://[A-Za-z0-9.\[\]:-]{1,255}(?:/[A-Za-z0-9._~/-]{0,255})?")
_REGION: Final = re.compile(r"[a-z0-9-]{0,63}")
_OAI_HOST: Final = re.compile(r"[A-Za-z0-9.-]{0,253}")
_MOST_RECORDS: Final = 500
"""Records of the largest page of OAI-PMH."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveSettings:
    """The settings of one archive, as the file `archive.toml` has them."""

    folder: Path
    name: str
    address: str
    """The public URL of the archive, such as http://archive.example.org."""
    host: str
    port: int
    ip: str = ""
    ip_port: int = ibip.DEFAULT_PORT
    administrator: str = ""
    """The e-mail address of the administrator."""
    platform_software: str = ""
    """The label of the software that runs the archive; empty if it has none (004, Table 7.3)."""
    listen: str = "127.0.0.1:8801"
    storage: str = ""
    """The parent of `col/`: a folder, or s3://bucket/prefix; empty for the archive's folder."""
    storage_endpoint: str = ""
    """The URL of an object store other than Amazon S3."""
    storage_region: str = ""
    storage_delivery: str = "proxied"
    """How clients get files of an object store: by the archive, or from there by signed URLs."""
    catalogue: str = "catalogue.sqlite"
    """The path of a file, or a postgresql:// URL."""
    ledger: str = "ledger.sqlite"
    granularity: str = AUTO
    allow_private: bool = False
    keep_replaced: bool = True
    """Whether a replaced or removed file is kept under another name."""
    largest_file: int = 1 << 40
    requests_a_second: int = 100
    """Requests a second to the API for one token, with bursts of five times as many."""
    trusted_proxies: list[str] = field(default_factory=list)
    """Networks whose X-Forwarded-For is trusted: who may read may depend on the client address."""
    allowed_networks: list[str] = field(default_factory=list)
    """Private networks to which this archive may connect, at all ports or at one."""
    adopts: list[str] = field(default_factory=list)
    """Prefixes of other archives whose items move in here under their labels."""
    landing: Landing = "auto"
    """Whether people who follow a label get the page of the item, and not its target file."""
    full_text: bool = True
    """Whether the texts of public files are extracted, and searched with the descriptions."""
    digest: bool = True
    """Whether a digest of the held names is published, so that resolvers ask fewer archives."""
    oai_host: str = ""
    """The middle of OAI identifiers; empty for `host`. It stays when the archive moves."""
    oai_page: int = 100
    """Records of one page of OAI-PMH."""
    copies_hours: int = 24
    """Hours after which a Copy is compared with its Original again; 0 if only on request."""
    audit_days: int = 30
    """Days after which all files are checked again; 0 if only on request."""
    audit_megabytes_a_second: int = 50
    """The pace of the periodic audits."""
    smtp: str = ""
    """HOST:PORT of the mail server; empty if messages are not sent."""
    mail_from: str = ""
    """The sender of messages."""
    mail_language: MailLanguage = "en"
    """The language of messages about reviews: accounts have no language of their own."""
    openid_issuer: str = ""
    """The OpenID provider at which people may sign in; empty for passwords only."""
    openid_client: str = ""
    """The id of this site at the provider."""
    openid_secret_file: str = ""
    """The path of a file with the secret of this site there, relative to the folder."""
    openid_name: str = ""
    """The name of the provider, on the page for signing in."""
    openid_claim: str = "sub"
    """The claim by which the provider identifies a person for good."""
    openid_join: str = "none"
    """The people that get an account uninvited: `none`, `all`, or a domain of addresses."""
    openid_role: str = "viewer"
    """The role of an account that is made without an invitation."""
    logo: str = ""
    """The path of an image: SVG, PNG, WebP or JPEG, relative to the folder."""
    accent: str = ""
    """The accent colour of the pages, such as #1351b4."""
    contact: str = ""
    """The e-mail address or the URL to which readers turn."""
    imprint: str = ""
    """The text of the imprint, or the URL of a page."""
    publisher: str = ""
    """The publisher of items that name none; the archive by its name, if this is empty."""
    draft_days: int = 365
    """Days after its last change after which a draft is discarded; 0 for never."""
    draft_gigabytes: int = 1000
    """The size of the files of all drafts of one depositor; 0 for any size."""
    review: bool = False
    """Whether curators publish what depositors submit."""
    workers: int = 1
    """Processes that answer requests; from two on, one more process is the writer."""

    @property
    def published_by(self) -> str:
        """The publisher of items that name none."""
        return self.publisher.strip() or self.name

    @property
    def is_in_objects(self) -> bool:
        """Whether the files are in an object store."""
        return self.storage.startswith(OBJECTS)

    @property
    def root(self) -> Path:
        """The folder of the files; that of the archive if they are in an object store."""
        return self.folder / ("" if self.is_in_objects else self.storage)

    def place(self, given: str) -> str:
        """Return the location of a database; a path is relative to the folder of the archive."""
        return place_of(self.folder, given)

    @property
    def minter(self) -> MinterSettings:
        """The settings of the minting subsystem of the archive."""
        return MinterSettings(
            self.host,
            self.port,
            self.ip or None,
            self.ip_port,
            self.place(self.ledger),
            self.granularity,
            self.allow_private,
        )


def read_archive(folder: Path) -> ArchiveSettings:
    """Read the settings of the archive in a folder."""
    nothing = f"There is no archive in {shown(str(folder))}: make one with 'ibi archive init'."
    with raising(ArchiveRequestError):
        return settings_file.read(folder / ARCHIVE_FILE, ArchiveSettings, checked, nothing)


def checked(settings: ArchiveSettings) -> ArchiveSettings:
    """Return valid settings, with the address as resolvers write it.

    Raises RequestError with the name of the first setting that is not valid.
    """
    settings = replace(settings, address=settings.address.lower().rstrip("/"))
    with raising(ArchiveRequestError):
        _check(settings)
    return settings


def _check(settings: ArchiveSettings) -> None:
    refuse_bad(
        settings,
        (
            ("name", settings.name.strip() and settings.name.isprintable(), "one line, for people"),
            ("address", is_address(settings.address), "http://host[:port]"),
            ("port", 1 <= settings.port <= MAX_PORT, f"a port from 1 to {MAX_PORT}"),
            ("ip_port", 1 <= settings.ip_port <= MAX_PORT, f"a port from 1 to {MAX_PORT}"),
            (
                "administrator",
                not settings.administrator or is_mail_address(settings.administrator),
                "an e-mail address",
            ),
            (
                "platform_software",
                not settings.platform_software or _is_label(settings.platform_software),
                "the label of the software that runs the archive",
            ),
            ("catalogue", settings.catalogue, "a file, or a postgresql:// URL"),
            ("ledger", settings.ledger, "a file, or a postgresql:// URL"),
            ("storage", _is_storage(settings.storage), "a folder, or s3://bucket/prefix"),
            (
                "storage_endpoint",
                not settings.storage_endpoint
                or (settings.is_in_objects and _ENDPOINT.fullmatch(settings.storage_endpoint)),
                "the URL of the object store that storage = s3://bucket is in",
            ),
            ("storage_region", _REGION.fullmatch(settings.storage_region), "the name of a region"),
            ("largest_file", settings.largest_file >= 1, "1 byte or more"),
            ("requests_a_second", settings.requests_a_second >= 1, "1 or more"),
            ("storage_delivery", settings.storage_delivery in DELIVERIES, " or ".join(DELIVERIES)),
            ("landing", settings.landing in LANDINGS, " or ".join(LANDINGS)),
            ("trusted_proxies", are_networks(settings.trusted_proxies), NETWORKS),
            ("allowed_networks", are_destinations(settings.allowed_networks), DESTINATIONS),
            ("oai_host", _OAI_HOST.fullmatch(settings.oai_host), "the name of a host"),
            ("oai_page", 1 <= settings.oai_page <= _MOST_RECORDS, f"1 to {_MOST_RECORDS}"),
            ("copies_hours", settings.copies_hours >= 0, "hours, or 0 for never"),
            ("audit_days", settings.audit_days >= 0, "days, or 0 for never"),
            ("audit_megabytes_a_second", settings.audit_megabytes_a_second >= 1, "1 or more"),
            ("draft_days", settings.draft_days >= 0, "days, or 0 for never"),
            ("draft_gigabytes", settings.draft_gigabytes >= 0, "gigabytes, or 0 for any number"),
            ("smtp", not settings.smtp or is_place(settings.smtp), "HOST:PORT"),
            (
                "mail_from",
                is_mail_address(settings.mail_from) if settings.smtp else True,
                "an e-mail address, if `smtp` is set",
            ),
            (
                "mail_language",
                settings.mail_language in get_args(MailLanguage),
                " or ".join(get_args(MailLanguage)),
            ),
            *openid_checks(settings, tuple(ROLE_SCOPES)),
            *identity_checks(settings),
            ("publisher", settings.publisher.isprintable(), "one line, the name of a publisher"),
            ("workers", 1 <= settings.workers <= MAX_WORKERS, f"1 to {MAX_WORKERS}"),
        ),
    )
    _check_parts(settings)


def label_host(name: str) -> str:
    """Return the host of labels for a name; LOCAL_HOST for an IP address or a single word."""
    try:
        return RepositoryName.mount(name, 80, Instant(0)).host
    except LabelError:
        return LOCAL_HOST


def _is_label(text: str) -> bool:
    try:
        parse(text, strict=True)
    except LabelError:
        return False
    return True


def _is_storage(storage: str) -> bool:
    if storage.startswith(OBJECTS):
        parts = storage.removeprefix(OBJECTS).split("/")
        return _BUCKET.fullmatch(storage) is not None and not {".", ".."} & set(parts)
    return "://" not in storage and storage.isprintable()


def _check_parts(settings: ArchiveSettings) -> None:
    """Check settings by the parsers of other modules, such as that of the address to listen at."""
    minter = settings.minter
    for name, check in (
        ("host", lambda: Subsystem(minter.host, minter.port)),
        ("ip", lambda: minter.ip and Subsystem(None, 1, minter.ip, 1, minter.allow_private)),
        ("granularity", lambda: parse_granularity(minter.granularity)),
        ("listen", lambda: place_to_listen(settings.listen)),
        ("adopts", lambda: AdoptablePrefixes((), settings.adopts)),
    ):
        try:
            check()
        except RequestError as fault:
            msg = f"{name}: {fault}"
            raise RequestError(msg) from None


def missing_for_linking(settings: ArchiveSettings) -> str:
    """Return which settings an announcement to resolvers needs and lacks; empty if none.

    Both are mandatory in an inclusion request (004, Table 5.2).
    """
    missing = [name for name in ("ip", "administrator") if not getattr(settings, name)]
    if not missing:
        return ""
    names = " and ".join(f"`{name}`" for name in missing)
    return (
        f"Resolvers need more facts of this archive: set {names} in {ARCHIVE_FILE}, and restart it."
    )


_NAMES: Final = ("storage", "storage_endpoint", "storage_region")
_LINE: Final = re.compile(rf"[ \t]*(?:{'|'.join(_NAMES)})[ \t]*=")


def moved(
    settings: ArchiveSettings, storage: str, endpoint: str = "", region: str = ""
) -> ArchiveSettings:
    """Return the settings of the same archive with its files elsewhere."""
    own = storage and not storage.startswith(OBJECTS) and settings.folder / storage
    if own == settings.folder:
        storage = ""  # the default
    return checked(
        replace(settings, storage=storage, storage_endpoint=endpoint, storage_region=region)
    )


def rewritten(text: str, settings: ArchiveSettings) -> str:
    """Return the text of a settings file with another storage; all other lines stay.

    If replacing lines does not give these settings, the whole file is generated anew.
    """
    wanted = {name: getattr(settings, name) for name in _NAMES if getattr(settings, name)}
    lines = [line for line in text.splitlines(keepends=True) if not _LINE.match(line)]
    # At the top: a name after a table header would belong to that table.
    new = "".join([*(f"{name} = {_string(value)}\n" for name, value in wanted.items()), *lines])
    before = tomllib.loads(text)
    expected = {name: value for name, value in before.items() if name not in _NAMES} | wanted
    try:
        return new if tomllib.loads(new) == expected else written(settings)
    except tomllib.TOMLDecodeError:
        return written(settings)


def _string(value: str) -> str:
    return msgspec.json.encode(value).decode()  # TOML reads what JSON writes
