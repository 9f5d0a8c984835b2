"""The script of the page of a draft, and the policy by which only that page may run it.

The page works without it. With it, files are dropped and sent in parts, and the form saves itself.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from importlib.resources import files
from typing import Final

from ibi.foundation.pages.static_files import (
    SCRIPT_CHECKSUM,
    SECURITY_POLICY,
    StaticFile,
    versioned,
)

_PATH: Final = "/static/deposit.js"
_CONTENT: Final = files("ibi.archive.web").joinpath("static", "deposit.js").read_bytes()
_FILE: Final = StaticFile(_CONTENT, "text/javascript")

DRAFT_FILES: Final[Mapping[str, StaticFile]] = {_PATH: _FILE}
"""The files of these pages, by path below the archive's address."""
DRAFT_SCRIPT: Final = versioned(_PATH, _FILE)
"""The address of the script in its version."""
DRAFT_CHECKSUM: Final = f"sha256-{base64.b64encode(hashlib.sha256(_CONTENT).digest()).decode()}"
"""The checksum of the script, as policies and integrity attributes write it."""
DRAFT_POLICY: Final = {
    "Content-Security-Policy": SECURITY_POLICY.replace(
        f"'{SCRIPT_CHECKSUM}'", f"'{SCRIPT_CHECKSUM}' '{DRAFT_CHECKSUM}'"
    )
}
"""The header of a page that runs it."""
