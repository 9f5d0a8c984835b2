"""Files that try to run script in a browser, whatever type they are said to be of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

MARK: Final = "data-ran"
"""The attribute that script which runs leaves in the document."""
_XHTML: Final = "http://www.w3.org/1999/xhtml"
_SVG: Final = "http://www.w3.org/2000/svg"
_XLINK: Final = "http://www.w3.org/1999/xlink"
_OVER_ALL: Final = 'style="position:fixed;left:0;top:0;width:100%;height:100%;display:block"'


@dataclass(frozen=True)
class Hostile:
    """A file, the type that it is declared to be of, and further files beside it."""

    name: str
    content: str
    declared: str = ""
    beside: dict[str, str] = field(default_factory=dict)


class Scripts:
    """Makes them; each that runs calls a canary by its name."""

    def __init__(self, canary: str) -> None:
        """Take the address of the canary."""
        self._canary = canary

    def code(self, name: str) -> str:
        """Return script that leaves traces wherever it can."""
        return (
            f"document.documentElement.setAttribute('{MARK}','{name}');document.title='ran';"
            f"new Image().src='{self._canary}/{name}';new Image().src='/ran/{name}';"
        )

    def all(self) -> Iterator[Hostile]:
        """Yield all, the plainest of each kind first."""
        kinds = [self._pages(), self._drawings(), self._xml(), self._mislabelled(), self._frames()]
        while kinds:
            for kind in list(kinds):
                try:
                    yield next(kind)
                except StopIteration:
                    kinds.remove(kind)

    def _pages(self) -> Iterator[Hostile]:
        bodies = {
            "script": "<script>{}</script>",
            "image": '<img src="nothing" onerror="{}">',
            "svg": '<svg onload="{}"></svg>',
            "focus": '<input autofocus onfocus="{}">',
            "link": f'<a {_OVER_ALL} href="javascript:{{}}">click</a>',
            "blank": f'<a {_OVER_ALL} target="_blank" href="javascript:{{}}">click</a>',
            "opener": f'<a {_OVER_ALL} target="_blank" rel="opener" href="other.html">click</a>',
            "button": f'<button {_OVER_ALL} onclick="{{}}">click</button>',
            "form": f'<form action="javascript:{{}}"><button {_OVER_ALL}>click</button></form>',
            "details": '<details open ontoggle="{}">x</details>',
            "media": '<video src="nothing" onerror="{}"></video>',
            "style": '<style>@keyframes x{{}}</style><b style="animation:x" '
            'onanimationstart="{}">x</b>',
            "policy": '<meta http-equiv="Content-Security-Policy" '
            "content=\"script-src * 'unsafe-inline'\"><script>{}</script>",
            "module": '<script type="module">{}</script>',
            "source": '<script src="other.js"></script>',
            "base": '<base href="../page-base/"><script src="other.js"></script>',
            "refresh": '<meta http-equiv="refresh" content="0;url=other.html">',
            "refresh-script": '<meta http-equiv="refresh" content="0;url=javascript:{}">',
        }
        for name, body in bodies.items():
            code = self.code(f"page-{name}")
            page = f"<!doctype html><title>x</title><body>{body.format(code)}"
            other = f"<script>{code}</script>"
            yield Hostile(f"page-{name}/a.html", page, "", {"other.html": other, "other.js": code})

    def _frames(self) -> Iterator[Hostile]:
        bodies = {
            "frame": '<iframe src="other.html"></iframe>',
            "srcdoc": '<iframe srcdoc="<script>parent.{0}</script><script>{0}</script>"></iframe>',
            "javascript": '<iframe src="javascript:{}"></iframe>',
            "data": '<iframe src="data:text/html,<script>{}</script>"></iframe>',
            "object": '<object data="other.svg" type="image/svg+xml"></object>',
            "object-page": '<object data="other.html" type="text/html"></object>',
            "embed": '<embed src="other.svg" type="image/svg+xml">',
            "allowing": '<iframe sandbox="allow-scripts allow-same-origin" '
            'src="other.html"></iframe>',
        }
        for name, body in bodies.items():
            code = self.code(f"frame-{name}")
            drawing = f'<svg xmlns="{_SVG}"><script>{code}</script></svg>'
            beside = {"other.html": f"<script>{code}</script>", "other.svg": drawing}
            page = f"<!doctype html><title>x</title><body>{body.format(code)}"
            yield Hostile(f"frame-{name}/a.html", page, "", beside)

    def _drawings(self) -> Iterator[Hostile]:
        bodies = {
            "script": "<script>{}</script>",
            "begun": '<animate attributeName="x" dur="1s" onbegin="{}"/>',
            "foreign": f'<foreignObject width="99" height="99"><body xmlns="{_XHTML}">'
            '<img src="nothing" onerror="{}"/></body></foreignObject>',
            "link": '<a xlink:href="javascript:{}"><rect width="999" height="999"/></a>',
            "animated": '<a><animate attributeName="href" values="javascript:{}"/>'
            '<rect width="999" height="999"/></a>',
            "handler": '<image href="nothing" onerror="{}"/>',
            "source": '<script xlink:href="other.js"/>',
            "use": '<use href="data:image/svg+xml,&lt;svg id=&quot;x&quot; '
            'onload=&quot;{}&quot;/&gt;#x"/>',
        }
        for name, body in bodies.items():
            code = self.code(f"svg-{name}")
            inside = body.replace("{}", code)
            drawing = f'<svg xmlns="{_SVG}" xmlns:xlink="{_XLINK}" width="999" height="999">'
            yield Hostile(f"svg-{name}/a.svg", f"{drawing}{inside}</svg>", "", {"other.js": code})

    def _xml(self) -> Iterator[Hostile]:
        code = self.code("xml-xhtml")
        page = f'<html xmlns="{_XHTML}"><head><script>{{}}</script></head><body>x</body></html>'
        yield Hostile("xml-xhtml/a.xhtml", page.format(code))
        yield Hostile("xml-plain/a.xml", page.format(self.code("xml-plain")))
        yield Hostile("xml-within/a.xml", f"<a>{page.format(self.code('xml-within'))}</a>")
        sheet = (
            '<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">'
            '<xsl:template match="/"><html><script>{}</script></html></xsl:template>'
            "</xsl:stylesheet>"
        )
        code = self.code("xml-sheet")
        asked = '<?xml-stylesheet type="text/xsl" href="other.xsl"?><a/>'
        yield Hostile("xml-sheet/a.xml", asked, "", {"other.xsl": sheet.format(code)})
        for kind in ("rss+xml", "atom+xml", "rdf+xml", "mathml+xml", "xslt+xml", "vnd.x+xml"):
            name = f"xml-{kind.partition('+')[0]}"
            yield Hostile(f"{name}/a", page.format(self.code(name)), f"application/{kind}")
        yield Hostile("xml-text/a", page.format(self.code("xml-text")), "text/xml")
        yield Hostile("xml-xsl/a", page.format(self.code("xml-xsl")), "text/xsl")

    def _mislabelled(self) -> Iterator[Hostile]:
        """Yield pages that are said to be something else, and something else that has a page."""
        types = {
            "as-html": "TEXT/HTML",
            "as-text": "text/plain",
            "as-png": "image/png",
            "as-pdf": "application/pdf",
            "as-octets": "application/octet-stream",
            "as-json": "application/json",
            "as-css": "text/css",
            "as-script": "text/javascript",
            "as-svg": "image/svg+xml",
            "as-mail": "message/rfc822",
            "as-csv": "text/csv",
            "as-parts": "multipart/x-mixed-replace",
            "as-related": "multipart/related",
            "as-nothing": "x/y",
            "as-parsed": "text/x-server-parsed-html",
            "as-wap": "application/vnd.wap.xhtml+xml",
            "as-manifest": "text/cache-manifest",
        }
        for name, declared in types.items():
            page = f'<html xmlns="{_XHTML}"><script>{self.code(name)}</script></html>'
            yield Hostile(f"{name}/a", page, declared)
        for suffix in ("txt", "jpg", "pdf", "htm", "shtml", "md", "bin", "svgz", "eml", "mht"):
            name = f"named-{suffix}"
            yield Hostile(f"{name}/a.{suffix}", f"<html><script>{self.code(name)}</script>")
        code = self.code("pdf-like")
        yield Hostile("pdf-like/a.pdf", f"%PDF-1.7\n<html><script>{code}</script>")
        yield Hostile("gif-like/a.gif", f"GIF89a=0;<script>{self.code('gif-like')}</script>")
        hidden = f"+ADw-script+AD4-{self.code('utf-7')}+ADw-/script+AD4-"
        yield Hostile("utf-7/a.html", f'<meta charset="utf-7">{hidden}<!-- é -->')
