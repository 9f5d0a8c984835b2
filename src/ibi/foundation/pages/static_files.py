"""Files that the pages of all sites use: style sheet, script and icons.

Pages may run this one script and no other, which their policy names by its checksum: a policy of
`script-src 'self'` would also allow scripts that were deposited in the archive.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from http import HTTPStatus
from importlib.resources import files
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

STYLE_SHEET: Final = "/static/ibi.css"
SCRIPT: Final = "/static/ibi.js"
ICON: Final = "/static/icon.svg"
_FAVICON: Final = "/favicon.ico"
"""Where browsers look for an icon that no page names."""
VERSION: Final = "v"
"""The pair of an address that names the version of a file."""
_FOR_EVER: Final = "public, max-age=31536000, immutable"
_HEADERS: Final = {
    "Cache-Control": "public, max-age=3600",
    "X-Content-Type-Options": "nosniff",
    # An icon that is opened by itself is a document, whose script would not be ours.
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
}


class StaticFile:
    """A file that stays the same while the service runs.

    Pages name it by its path and its version. What a browser has of that address stays right for
    ever; the path alone always gives the file of today.
    """

    def __init__(self, content: bytes, media_type: str) -> None:
        self.content = content
        self.media_type = media_type
        self.version = hashlib.sha256(content).hexdigest()[:16]

    async def answer(self, request: Request) -> Response:
        """Answer with the file, or that the client has it."""
        headers = {**_HEADERS, "ETag": f'"{self.version}"'}
        if request.query_params.get(VERSION) == self.version:
            headers["Cache-Control"] = _FOR_EVER
        if headers["ETag"] in request.headers.get("if-none-match", ""):
            return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
        return Response(self.content, headers=headers, media_type=self.media_type)


def _packaged(name: str, media_type: str) -> StaticFile:
    content = files("ibi.foundation.pages").joinpath("static", name).read_bytes()
    return StaticFile(content, media_type)


FILES: Final[Mapping[str, StaticFile]] = {
    STYLE_SHEET: _packaged("ibi.css", "text/css"),
    SCRIPT: _packaged("ibi.js", "text/javascript"),
    ICON: _packaged("icon.svg", "image/svg+xml"),
    _FAVICON: _packaged("favicon.ico", "image/vnd.microsoft.icon"),
}
"""The files of all sites, by path below the site's address."""


def versioned(path: str, file: StaticFile) -> str:
    """Return the address of a file in its version, below the site's address."""
    return f"{path}?{VERSION}={file.version}"


_DIGEST: Final = hashlib.sha256(FILES[SCRIPT].content).digest()
SCRIPT_CHECKSUM: Final = f"sha256-{base64.b64encode(_DIGEST).decode()}"
"""The checksum of the script, as policies and integrity attributes write it."""

SECURITY_POLICY: Final = (
    f"default-src 'none'; script-src '{SCRIPT_CHECKSUM}'; style-src 'self'; img-src 'self'; "
    "media-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
"""The Content-Security-Policy that all pages obey."""


def static_routes(further: Mapping[str, StaticFile] | None = None) -> list[Route]:
    """Return the routes of the files of all sites, and of those of one site."""
    return [Route(path, file.answer) for path, file in {**FILES, **(further or {})}.items()]
