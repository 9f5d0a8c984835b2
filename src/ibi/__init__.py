"""Internet Based Identifiers: read, write and take apart the labels of ABNT NBR 16066:2012."""

from ibi.errors import IbiError, LabelError, PersistentUrlError, ReadingError
from ibi.identifier.check_character import check_character
from ibi.identifier.description import Description, describe
from ibi.identifier.ibip import Ibip
from ibi.identifier.instant import Instant
from ibi.identifier.label import Label, Reading, parse, read
from ibi.identifier.language import Language
from ibi.identifier.legacy import LegacyLabel
from ibi.identifier.persistent_url import PersistentUrl
from ibi.identifier.repository_name import RepositoryName

__all__ = [
    "Description",
    "IbiError",
    "Ibip",
    "Instant",
    "Label",
    "LabelError",
    "Language",
    "LegacyLabel",
    "PersistentUrl",
    "PersistentUrlError",
    "Reading",
    "ReadingError",
    "RepositoryName",
    "check_character",
    "describe",
    "parse",
    "read",
]
