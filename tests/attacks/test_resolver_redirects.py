"""Threats, row 2: an archive that is registered answers with URLs that lead elsewhere.

Nobody is sent anywhere but to the archive's own address, or to a host that its registration
allows: however a URL is spelled, whatever was asked, and whatever a reader adds to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.support.doubles.archive import ArchiveDouble
from tests.support.servers.attacked import FULL
from tests.support.servers.attacked_resolver import attacked, label, service_of
from tests.support.servers.resolver import ResolverServer

EVIL: Final = "evil.example"
ALIASES: Final = ["files.example.org", "mirror.example.org:8080"]
# {0} is the address of the archive, {1} its host, {2} its port.
SCHEMES: Final = """
    javascript:alert(1) JavaScript:alert(1) javascript://{0}/%0aalert(1) data:text/html,x
    DATA:text/html;base64,PHNjcmlwdD4= vbscript:x file:///etc/passwd ftp://{0}/ ws://{0}/
    blob:http://{0}/x about:blank mailto:a@b view-source:http://{0}/ jar:http://{0}/!/ intent://x
    gopher://{0}/ chrome://settings tel:1 urn:x:y httpx://{0}/ htt://{0}/ xhttp://{0}/ http+x://{0}/
    filesystem:http://{0}/x ldap://{0}/ ssh://{0}/ HTTP://{0}/ hTTps://{0}/ h%74tp://{0}/
    http%3A//{0}/
"""
RELATIVE: Final = r"""
    //evil.example ///evil.example ////evil.example /\evil.example \\evil.example \/evil.example
    /evil.example evil.example ?evil #evil . .. //{0}/ http:{0} http:/{0}/ http:///{0}/ http:////{0}/
    http:\\{0}\ http:\/{0}/ http:evil.example http:/evil.example http:///evil.example
    http:\\evil.example http:/\evil.example http://\evil.example http://\{0}/ http:// https:// http:
"""
AUTHORITIES: Final = r"""
    {0}@evil.example {0}:80@evil.example {0}%40evil.example {0}\@evil.example {0}\evil.example
    {0}\.evil.example {0}.evil.example {0}evil.example {0}-evil.example {0};evil.example
    {0},evil.example {0}&@evil.example {0}'@evil.example {0}*@evil.example {0}!@evil.example
    {0}$@evil.example {0}(@evil.example {0}=@evil.example {0}+@evil.example {0}~@evil.example
    {0}_@evil.example {0}|@evil.example {0}^@evil.example {0}`@evil.example {0}[@evil.example
    {0}]@evil.example {0}<@evil.example {0}>@evil.example {0}"@evil.example {0}%@evil.example
    {0}%00@evil.example {0}%09evil.example {0}%0d%0a@evil.example {0}%20@evil.example
    {0}%23@evil.example {0}%2f@evil.example {0}%2F.evil.example {0}%3f@evil.example
    {0}%5c@evil.example {0}%5C.evil.example {0}%252f@evil.example {0}%E3%80%82evil.example
    {0}%EF%BC%8Fevil.example {0}%EF%BC%A0evil.example {0}%ff@evil.example
    a@{0} a:b@{0} @{0} :@{0} :80@{0} evil.example@{0} evil.example:80@{0} {1}:{2}:{2} {1}::{2}
    {1}:{2}:80@evil.example {1}:80:{2} {1}: {1} {1}:80 {1}:443 {1}:0 {1}:65536 {1}:99999
    {1}:{2}0 {1}:-{2} {1}:+{2} {1}:{2}x {1}:0x50 {1}:%38%30 {1}.:{2} .{1}:{2} {1}..:{2}
    evil.example evil.example:{2} evil.example.{1}:{2} evil.{1}:{2} x{1}:{2} {1}.evil.example:{2}
    evil.example/{0} evil.example?{0} evil.example#{0} evil.example\{0} evil.example?@{0}
    evil.example#@{0} evil.example/@{0} evil.example\@{0} evil.example%2f@{0} evil.example;@{0}
    127.1:{2} 2130706433:{2} 0x7f000001:{2} 0177.0.0.1:{2} 127.0.1:{2} 127.000.000.001:{2}
    localhost:{2} [::1]:{2} [::ffff:127.0.0.1]:{2} [127.0.0.1]:{2} [{1}]:{2} [{0}] {1}]:{2} [:{2}
    [evil.example]:{2} [::1%25lo]:{2} [::]:{2} 127.0.0.1.nip.io:{2} %31%32%37.0.0.1:{2}
    xn--127-0-0-1:{2} 127.0.0.2:{2} 0:{2} 0.0.0.0:{2} 127.0.0.1:{2}.evil.example
    files.example.org.evil.example files.example.org@evil.example files.example.org:8080
    files.example.org:443 files.example.org:{2} files.example.org. xfiles.example.org
    evil.files.example.org example.org files_example.org files-example.org files.example.com
    files.example.org%2eevil.example files.example.org:80:80 files%2Eexample.org
    mirror.example.org mirror.example.org:80 mirror.example.org:80801 mirror.example.org:8081
    mirror.example.org:8080@evil.example mirror.example.org:8080.evil.example
"""
SMUGGLED: Final = [
    *(f"http://{{0}}{sign}@evil.example/" for sign in "\t\n\r\0\x0b\x0c\x1f\x7f\x85 \\{}"),
    *(f"http://{{0}}{sign}.evil.example/" for sign in "\t\n\r\0 \\{}\xa0\xad\u2028\u3002\uff0e"),
    *(f"http://{{0}}{sign}evil.example/" for sign in "\uff0f\uff20\uff1a\uff1f\uff03\u2044\u2215"),
    *(f"{sign}http://evil.example/" for sign in "\t\n\r\0 \\\x1f\xa0\ufeff\u200b"),
    *(f"{sign}javascript:alert(1)" for sign in "\t\n\r\0 \x01\x1f\xa0\ufeff"),
    *(f"java{sign}script:alert(1)" for sign in "\t\n\r\0"),
    *(f"h{sign}ttp://evil.example/" for sign in "\t\n\r"),
    *(f"http:{sign}//evil.example/" for sign in "\t\n\r"),
    *(f"http:/{sign}/evil.example/" for sign in "\t\n\r"),
    *(f"/{sign}/evil.example/" for sign in "\t\n\r\\"),
    "http://{0}/\r\nLocation: http://evil.example/",
    "http://{0}/\r\n\r\n<script>alert(1)</script>",
    "http://{0}/%0d%0aLocation:%20http://evil.example/",
    "http://{0}/\\evil.example",
    "http://{0}/..//evil.example",
    "http://{0}//evil.example/%2e%2e",
    "http://f\u0456les.example.org/",
    "http://files.ex\u0430mple.org/",
    "http://files\uff0eexample\u3002org/",
    "http://\uff46iles.example.org/",
    "http://files.example.org\u202e/gro.live",
    "http://\u2460\u2461\u2466.0.0.1:{2}/",
    "http://127\u30020\u30020\u30021:{2}/",
    "http://files.example.\u212aom/",
    "http://fi\u200bles.example.org/",
    "http://fi\xadles.example.org/",
    "http://\u0131nf.example/",
]
"""With characters that only an escape of Tcl brings into a pair list."""
GOOD: Final = [
    *(
        "http://{0}",
        "http://{0}/",
        "https://{0}/x",
        "http://{0}?x=http://evil.example/",
        "http://{0}#x",
    ),
    *("http://files.example.org/a", "https://files.example.org/a", "https://FILES.example.org:443"),
    *("http://files.example.org:80/a@evil.example", "http://mirror.example.org:8080/a"),
]
ASKED: Final = {"": "", "!": ".lastedition", ":": ".metadata", "+(en)": ".translation(en)"}
"""What is asked of an item, and how an archive names that."""
PAIRS: Final = ["", "?@evil.example/", "?//evil.example", "?x=y&@evil.example", "?%5c@evil.example"]

STEP: Final = 1 if FULL else 12
UPSTREAMS: Final = ("https://doi.org/1", "https://hdl.handle.net/1", "https://hdl.handle.net/2")
"""Each with the first digit of what is sent there."""
AFTER_A_GATEWAY: Final = [
    *("@evil.example/x", "//evil.example", "%5c@evil.example", ".evil.example", "?@evil", "#@x"),
]

WITHOUT_LIST: Final = """
from ibi.resolver.rules import redirect_target

redirect_target.is_permitted = lambda url, archive: True
"""


def payloads(address: str) -> Iterator[str]:
    host, _, port = address.partition(":")
    patterns = [*SCHEMES.split(), *RELATIVE.split(), *SMUGGLED]
    patterns += [
        f"{scheme}://{each}/" for each in AUTHORITIES.split() for scheme in ("http", "https")
    ]
    patterns += [f"http://{each}" for each in AUTHORITIES.split()]
    for pattern in patterns:
        yield pattern.replace("{0}", address).replace("{1}", host).replace("{2}", port)


def is_on_list(location: str, address: str) -> bool:
    """Tell whether a location leads to the archive or an alias, by any reading of it."""
    places = [address, *ALIASES, "files.example.org:80", "files.example.org:443"]
    begun = [f"{scheme}://{place}" for place in places for scheme in ("http", "https")]
    ends = ("", "/", "?", "#")
    is_plain = location.isascii() and location.isprintable() and "\\" not in location
    low = location.lower()
    return is_plain and any(
        low == start if not end else low.startswith(start + end) for start in begun for end in ends
    )


class UrlGiver(ArchiveDouble):
    """An archive that gives whatever URL it likes, character by character."""

    def give(self, number: int, url: str) -> str:
        """Have an item whose URLs, for whatever is asked, are this; return its label."""
        escaped = "".join(f"\\u{ord(sign):04x}" for sign in url)
        name = label(number)
        self.items[name] = {f"url{relation}": escaped for relation in ASKED.values()}
        return name

    def said(self, query: dict[str, str]) -> str:
        """Write a list with the escapes of Tcl."""
        name = query.get("parsedibiurl.ibi", "")
        if query.get("servicesubject") != "urlRequest" or name not in self.items:
            return super().said(query)
        pairs = [f"archiveaddress {self.address}", f"ibi.archiveservice {{ibip {self.service}}}"]
        pairs += ["ibi.platformsoftware {}", f"ibi {{ibip {name}}}"]
        for given, url in self.items[name].items():
            relation = given.removeprefix("url")
            pairs += [f'{given} "{url}"', f"state{relation} Original"]
            if relation:
                pairs.append(f"ibi{relation} {{ibip {name}}}")
        return "\r\n".join(pairs)


def locations(resolver: ResolverServer, archive: UrlGiver, number: int, url: str) -> list[str]:
    """Return where readers are sent who ask for an item of that URL, in all ways."""
    name = archive.give(number, url)
    found = []
    for turn, asked in enumerate(ASKED):
        answer = resolver.get(f"/{name}{asked}{PAIRS[(number + turn) % len(PAIRS)]}")
        assert answer.status in {302, 404, 503}, (url, answer.status)
        if answer.status == 302:
            found.append(answer.headers["location"])
        # One whose answer makes no sense thrice is taken for down; this one makes sense.
        assert resolver.get(f"/{label(0)}").status == 302
    told = resolver.get(f"/api/v1/resolve?url={name}")
    if told.status == 200:
        found.append(told.json()["location"])
    return found


@pytest.fixture(scope="module")
def resolver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ResolverServer]:
    with attacked(tmp_path_factory.mktemp("resolver"), hot_seconds=0.0) as running:
        yield running


@contextmanager
def registered(resolver: ResolverServer, number: int) -> Iterator[UrlGiver]:
    """Run an archive that has aliases, and one item that is where it should be."""
    with UrlGiver(service_of(number)) as archive:
        resolver.include(archive, hosts=ALIASES)
        archive.give(0, f"http://{archive.address}/")
        yield archive
        resolver.api("DELETE", f"archives/{archive.service}")


def off_list(resolver: ResolverServer, archive: UrlGiver, given: list[str]) -> list[str]:
    """Attack; return where readers were sent that is not on the list."""
    return [
        location
        for number, url in enumerate(given, 1)
        for location in locations(resolver, archive, number, url)
        if not is_on_list(location, archive.address)
    ]


def test_nobody_is_sent_off_the_list(resolver: ResolverServer) -> None:
    with registered(resolver, 0) as archive:
        given = list(payloads(archive.address))
        assert len(given) >= 200
        assert off_list(resolver, archive, given[::STEP]) == []


def test_the_urls_bite(tmp_path: Path) -> None:
    """The twin: without the list, readers are sent wherever a URL leads."""
    with (
        attacked(tmp_path, WITHOUT_LIST, hot_seconds=0.0) as resolver,
        registered(resolver, 0) as archive,
    ):
        given = list(payloads(archive.address))[::20]
        assert len(off_list(resolver, archive, given)) > 2 * len(given)


def test_the_list_is_the_archive_and_its_aliases(resolver: ResolverServer) -> None:
    with registered(resolver, 1) as archive:
        for number, url in enumerate(GOOD, 1):
            good = url.replace("{0}", archive.address)
            found = locations(resolver, archive, number, good)
            assert len(found) == len(ASKED) + 1
            assert all(is_on_list(location, archive.address) for location in found), found
        resolver.api("PUT", f"archives/{archive.service}/hosts", {"hosts": []})
        assert locations(resolver, archive, 99, "http://files.example.org/a") == []


def test_other_systems_are_the_only_other_places(resolver: ResolverServer) -> None:
    sent = 0
    for rest in AFTER_A_GATEWAY:
        for begin in ("", "/", "//", "10.1000/", "20.1/", "10.1000%2f", "@", "\\"):
            for form in ("/doi/", "/doi:", "/DOI%3A", "/hdl/", "/ark:", "/urn:", "/doi//"):
                answer = resolver.get(f"{form}{begin}{rest}")
                assert answer.status in {302, 400, 404}
                if answer.status == 302:
                    sent += 1
                    location = answer.headers["location"]
                    assert location.startswith(UPSTREAMS), location
    assert sent > 20
