"""What licences permit, in one sentence."""

from __future__ import annotations

import pytest

from ibi.metadata.permission import permission_of


@pytest.mark.parametrize(
    ("licence", "said"),
    [
        ("CC0-1.0", "Use it for anything, without conditions."),
        ("https://creativecommons.org/publicdomain/zero/1.0/", "without conditions."),
        ("CC-BY-4.0", "Use it for anything; name the creators."),
        ("CC-BY-3.0-IGO", "Use it for anything; name the creators."),
        ("https://creativecommons.org/licenses/by/4.0/", "Use it for anything; name the creators."),
        (
            "CC-BY-SA-4.0",
            "anything; name the creators, and share what you make of it under the same",
        ),
        ("CC-BY-NC-4.0", "anything but commerce; name the creators."),
        ("CC-BY-NC-SA-3.0", "but commerce; name the creators, and share what you make of it under"),
        ("CC-BY-ND-4.0", "Use it for anything, but do not share changed versions; name"),
        ("CC-BY-NC-ND-4.0", "but commerce, and do not share changed versions; name"),
        ("CC-BY-ND-NC-1.0", "but commerce, and do not share changed versions; name"),
        ("MIT", "keep the copyright notice and the text of the licence."),
        ("BSD-2-Clause", "keep the copyright notice and the text of the licence."),
        ("BSD-3-Clause", "keep the copyright notice and the text of the licence."),
        ("Apache-2.0", "say what you changed."),
        ("GPL-3.0-or-later", "only under the same licence and with its source code."),
        ("GPL-2.0", "only under the same licence and with its source code."),
    ],
)
def test_common_licences_have_a_sentence(licence: str, said: str) -> None:
    assert said in permission_of(licence)


@pytest.mark.parametrize(
    "licence",
    [
        *("", "CC-BY", "CC-SA-1.0", "CC-BY-SA-ND-4.0", "CC-BY-SA-SA-4.0x", "cc-by-4.0"),
        *("BSD-3-Clause-No-Nuclear-License", "LGPL-3.0-only", "AGPL-3.0-only", "MIT-0", "CC-PDDC"),
        "https://example.org/our-own",
    ],
)
def test_others_have_none(licence: str) -> None:
    assert permission_of(licence) == ""
