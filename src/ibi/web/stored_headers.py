"""What an object store tells a browser of a file that it delivers itself.

No policy of ours goes with such a file. It comes from another origin than the archive's; still,
whatever a browser might run there is saved rather than shown.
"""

from __future__ import annotations

import re
from typing import Final

from ibi.model.item import File
from ibi.web.header_values import content_disposition, header_safe
from ibi.web.media_types import media_type_of

_SHOWN: Final = re.compile(
    r"(?:application/pdf|text/plain|audio/[a-z0-9.+-]+|video/[a-z0-9.+-]+"
    r"|image/(?:avif|bmp|gif|jpeg|jxl|png|webp))"
)


def stored_headers(file: File) -> dict[str, str]:
    """Return the headers that are kept with a file."""
    media_type = media_type_of(file.path, file.media_type)
    is_shown = _SHOWN.fullmatch(media_type.partition(";")[0].strip().lower())
    name = file.path.rpartition("/")[2]
    return {
        "Content-Type": header_safe(media_type),
        "Content-Disposition": content_disposition(name, attachment=is_shown is None),
    }
