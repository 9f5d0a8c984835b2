"""Icons of pages: drawings of lines in the colour of the text beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from markupsafe import Markup

_LINES: Final = {
    "add": '<path d="M8 3v10M3 8h10"/>',
    "arrow": '<path d="M2.5 8h11M9.5 4l4 4-4 4"/>',
    "again": '<path d="M13 8a5 5 0 1 1-1.6-3.7M13 2v3h-3"/>',
    "circle": '<circle cx="8" cy="8" r="5.5"/>',
    "copy": '<rect x="5.5" y="5.5" width="8" height="8" rx="1"/><path d="M10.5 5.5v-3h-8v8h3"/>',
    "data": '<ellipse cx="8" cy="3.8" rx="5" ry="2"/><path d="M3 3.8v8.4c0 1.1 2.2 2 5 2s5-.9 '
    '5-2V3.8M3 8c0 1.1 2.2 2 5 2s5-.9 5-2"/>',
    "download": '<path d="M8 2v8M4.8 7 8 10.2 11.2 7M2.5 13.5h11"/>',
    "eye": '<path d="M1.5 8C4 3.5 12 3.5 14.5 8 12 12.5 4 12.5 1.5 8z"/>'
    '<circle cx="8" cy="8" r="2"/>',
    "feed": '<path d="M3 13h.01M3 8.5A4.5 4.5 0 0 1 7.5 13M3 4a9 9 0 0 1 9 9"/>',
    "find": '<circle cx="7" cy="7" r="4.5"/><path d="m10.5 10.5 3.5 3.5"/>',
    "folder": '<path d="M2 4.5v8h12v-7H8L6.5 3.5H2z"/>',
    "image": '<rect x="2" y="3" width="12" height="10" rx="1"/>'
    '<path d="m2.5 12 3.5-4 2.5 2.5 2-2 3 3.5"/><circle cx="10.5" cy="5.8" r=".8"/>',
    "lock": '<rect x="3.5" y="7" width="9" height="6.5" rx="1"/>'
    '<path d="M5.5 7V5a2.5 2.5 0 0 1 5 0v2"/>',
    "map": '<path d="m2 4 4-1.5 4 1.5 4-1.5v9.5l-4 1.5L6 12l-4 1.5zM6 2.5V12M10 4v9.5"/>',
    "open": '<path d="M9.5 2.5h4v4M13.5 2.5l-6 6M6.5 3.5h-3v9h9v-3"/>',
    "orcid": '<circle cx="8" cy="8" r="6.5"/>'
    '<path d="M5.8 6.5V11M5.8 4.6v.01M8 11V6.5h1.5a2.2 2.2 0 0 1 0 4.5z"/>',
    "remove": '<path d="m4 4 8 8M12 4l-8 8"/>',
    "sound": '<path d="M2.5 6v4h2.5l3.5 3V3L5 6zM11 5.5a3.5 3.5 0 0 1 0 5"/>',
    "text": '<path d="M4 1.5h5.5L12.5 5v9.5H4zM9.5 1.5V5h3M6 8h4.5M6 11h4.5"/>',
    "tick": '<path d="m3 8.5 3.2 3.2L13 4.5"/>',
    "upload": '<path d="M8 10V2.5M4.8 5.5 8 2.3l3.2 3.2M2.5 10v3.5h11V10"/>',
    "thesis": '<path d="m1.5 6 6.5-3 6.5 3L8 9zM4.5 7.5v3.8c1.9 1.6 5.1 1.6 7 0V7.5M14.5 6v4"/>',
}

ICONS: Final[Mapping[str, Markup]] = {
    name: Markup(f'<svg class="icon" viewBox="0 0 16 16" aria-hidden="true">{lines}</svg>')  # noqa: S704  # ours
    for name, lines in _LINES.items()
}
"""Icons by name; a word stands beside each."""

MARK: Final = Markup(
    '<svg class="mark" viewBox="0 0 42 28" aria-hidden="true">'
    '<path d="M2 11h5v15H2zM12 2h5v24h-5zM35 11h5v15h-5z"/>'
    '<circle class="ring" cx="20.5" cy="17.5" r="6" stroke-width="5"/>'
    '<circle class="dot" cx="4.5" cy="5" r="3.2"/><circle class="dot" cx="37.5" cy="5" r="3.2"/>'
    "</svg>"
)
"""The mark of IBI: two places, and the item that keeps its name between them."""
