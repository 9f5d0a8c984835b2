"""A repository name that is canonical already is seen to be, and is what it would be written as."""

from __future__ import annotations

from itertools import product

from ibi.identifier.repository_name import longest_match, mount_prefix, mount_suffix

SUBDOMAINS = ("sid.inpe.br", "SID.inpe.br", "sid.inpe.br.", "a-b.c")
WORDS = ("mtc", "MTC", "mtc-1", "mtc.80", "mtc.8080", "mtc.080", "mtc.800", "mtc@80", "mtc@8080")
DAYS = ("2009/02.16", "0999/01.01", "12009/01.01", "02009/01.01")
TIMES = ("00.00", "00.00.00", "17.46.05", "17.46.10", "17.46.00.5", "17.46.05.50", "17.46.00.0")


def test_the_canonical_spelling_is_what_the_algorithms_write() -> None:
    spelled = [
        f"{subdomain}/{word}/{day}.{time}"
        for subdomain, word, day, time in product(SUBDOMAINS, WORDS, DAYS, TIMES)
    ]
    names = [name for name in map(longest_match, spelled) if name is not None]
    assert len(names) == len(spelled)
    for name in names:
        written = f"{mount_prefix(name.host, name.port)}/{mount_suffix(name.instant)}"
        assert name.canonical == written
    assert any(name.canonical == name.spelling for name in names)
    assert any(name.canonical != name.spelling for name in names)
