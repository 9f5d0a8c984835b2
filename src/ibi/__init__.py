"""Internet Based Identifiers: read, write and take apart the labels of ABNT NBR 16066:2012."""

from ibi.errors import (
    CheckCharacterError,
    IbiError,
    IbipError,
    LabelError,
    LanguageError,
    LegacyLabelError,
    ModifierOrderError,
    PersistentUrlError,
    ReadingError,
    RepositoryNameError,
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

__all__ = [
    "CheckCharacterError",
    "Description",
    "IbiError",
    "Ibip",
    "IbipError",
    "Instant",
    "Label",
    "LabelError",
    "Language",
    "LanguageError",
    "LegacyLabel",
    "LegacyLabelError",
    "ModifierOrderError",
    "PersistentUrl",
    "PersistentUrlError",
    "Reading",
    "ReadingError",
    "RepositoryName",
    "RepositoryNameError",
    "check_character",
    "describe",
    "pair_warnings",
    "parse",
    "read",
]
