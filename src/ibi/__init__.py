"""Internet Based Identifiers: parse, write, describe and mint labels of ABNT NBR 16066:2012."""

from typing import TYPE_CHECKING

from ibi.errors import (
    BusyError,
    CheckCharacterError,
    ClockError,
    IbiError,
    IbipError,
    LabelError,
    LanguageError,
    LedgerError,
    LegacyLabelError,
    MintingError,
    ModifierOrderError,
    PersistentUrlError,
    ReadingError,
    RepositoryNameError,
    ResolverError,
    ResolverRefusedError,
    ResolverUnreachableError,
)
from ibi.identifier.check_character import check_character
from ibi.identifier.description import Description, describe, pair_warnings
from ibi.identifier.ibip import Ibip
from ibi.identifier.instant import Instant
from ibi.identifier.label import Label, Reading, parse, read
from ibi.identifier.language import Language
from ibi.identifier.legacy import LegacyLabel
from ibi.identifier.persistent_url import PersistentUrl
from ibi.identifier.repository_name import RepositoryName

if TYPE_CHECKING:
    from ibi.client.resolver import Client
    from ibi.minting.minter import Minter
    from ibi.minting.pool import Pool
    from ibi.minting.remote_minter import RemoteMinter
    from ibi.minting.rules.label_generator import Minted
    from ibi.minting.wiring import open_minter, open_pool

__all__ = [
    "BusyError",
    "CheckCharacterError",
    "Client",
    "ClockError",
    "Description",
    "IbiError",
    "Ibip",
    "IbipError",
    "Instant",
    "Label",
    "LabelError",
    "Language",
    "LanguageError",
    "LedgerError",
    "LegacyLabel",
    "LegacyLabelError",
    "Minted",
    "Minter",
    "MintingError",
    "ModifierOrderError",
    "PersistentUrl",
    "PersistentUrlError",
    "Pool",
    "Reading",
    "ReadingError",
    "RemoteMinter",
    "RepositoryName",
    "RepositoryNameError",
    "ResolverError",
    "ResolverRefusedError",
    "ResolverUnreachableError",
    "check_character",
    "describe",
    "open_minter",
    "open_pool",
    "pair_warnings",
    "parse",
    "read",
]

_LATER = {
    "Client": "ibi.client.resolver",
    "Minted": "ibi.minting.rules.label_generator",
    "Minter": "ibi.minting.minter",
    "Pool": "ibi.minting.pool",
    "RemoteMinter": "ibi.minting.remote_minter",
    "open_minter": "ibi.minting.wiring",
    "open_pool": "ibi.minting.wiring",
}
"""Names that are imported at first use: a program that only parses labels needs no database."""


def __getattr__(name: str) -> object:
    if name not in _LATER:
        msg = f"module 'ibi' has no attribute {name!r}"
        raise AttributeError(msg)
    from importlib import import_module  # noqa: PLC0415  # as late as the modules it imports

    return getattr(import_module(_LATER[name]), name)
