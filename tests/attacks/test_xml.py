"""Threats, row 11: entity bombs, external entities and what else XML can do to its reader."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.request import urlopen

import pytest
from lxml import etree

from ibi.errors import MetadataError
from ibi.metadata.crosswalks import oai_dc

CANARY = "the canary of a file that nobody should read"
MEMORY = 12 * 2**20
"""Bytes that reading may take beyond what the process has."""
ROOT = Path(__file__).parents[1]


def dc(inside: str, attributes: str = "") -> str:
    return (
        f'<oai_dc:dc xmlns:oai_dc="{oai_dc.NAMESPACE}" '
        f'xmlns:dc="http://purl.org/dc/elements/1.1/" {attributes}>{inside}</oai_dc:dc>'
    )


def titled(text: str) -> str:
    return dc(f"<dc:title>{text}</dc:title>")


def laughs(levels: int, width: int) -> str:
    """Return a document that is 3 * width ** levels long when its entities are put in."""
    entities = ['<!ENTITY l0 "lol">'] + [
        f'<!ENTITY l{level} "{f"&l{level - 1};" * width}">' for level in range(1, levels + 1)
    ]
    return f"<!DOCTYPE x [{''.join(entities)}]>{titled(f'&l{levels};')}"


def quadratic(length: int, times: int) -> str:
    return f'<!DOCTYPE x [<!ENTITY a "{"a" * length}">]>{titled("&a;" * times)}'


def bombs() -> Iterator[tuple[str, str]]:
    for levels, width in ((3, 10), (7, 10), (9, 10), (30, 2), (5, 100)):
        yield f"laughs {levels} {width}", laughs(levels, width)
    for length, times in ((100, 100), (100_000, 1_000), (10_000, 90_000)):
        yield f"quadratic {length} {times}", quadratic(length, times)
    yield "loop", f'<!DOCTYPE x [<!ENTITY a "&b;"><!ENTITY b "&a;">]>{titled("&a;")}'
    inside = '<!ENTITY % a "&#37;b;"><!ENTITY % b "&#37;a;">%a;'
    yield "parameter loop", f"<!DOCTYPE x [{inside}]>{titled('x')}"


def external(url: str, name: str) -> Iterator[tuple[str, str]]:
    entity = f'<!ENTITY x SYSTEM "{url}">'
    body = titled("&x;")
    yield f"{name} entity", f"<!DOCTYPE x [{entity}]>{body}"
    yield f"{name} public", f'<!DOCTYPE x [<!ENTITY x PUBLIC "-//x" "{url}">]>{body}'
    yield f"{name} after a comment", f"<!-- > --><?p > ?>\n<!DOCTYPE x [{entity}]>{body}"
    yield f"{name} declared", f'<?xml version="1.0"?>\n \t\r\n<!DOCTYPE x [{entity}]>{body}'
    yield f"{name} subset", f'<!DOCTYPE x SYSTEM "{url}">{titled("x")}'
    yield f"{name} public subset", f'<!DOCTYPE x PUBLIC "-//x" "{url}">{titled("x")}'
    yield f"{name} parameter", f'<!DOCTYPE x [<!ENTITY % p SYSTEM "{url}"> %p;]>{titled("x")}'
    include = f'<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="{url}" parse="text"/>'
    yield f"{name} XInclude", titled(include)
    yield f"{name} XInclude at the top", include
    where = f'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="u {url}"'
    yield f"{name} schema", dc("<dc:title>x</dc:title>", where)
    yield f"{name} style sheet", f'<?xml-stylesheet href="{url}"?>{titled("x")}'


def large() -> Iterator[tuple[str, str]]:
    for depth in (10, 1_000, 45_000):
        yield f"depth {depth}", titled("<dc:title>" * depth + "</dc:title>" * depth)
    yield "unclosed", "<a>" * 300_000
    yield "one attribute", dc("<dc:title>x</dc:title>", f'a="{"a" * 1_000_000}"')
    attributes = " ".join(f'a{number}=""' for number in range(60_000))
    yield "attributes", dc("<dc:title>x</dc:title>", attributes)
    namespaces = " ".join(f'xmlns:a{number}="u:{number}"' for number in range(30_000))
    yield "namespaces", dc("<dc:title>x</dc:title>", namespaces)
    yield "elements", dc("<dc:title/>" * 90_000)
    yield "small elements", dc("<a/>" * 260_000)
    yield "one text", titled("a" * 1_000_000)
    yield "references", titled("&#97;" * 200_000)
    yield "two megabytes", titled("a" * 2_000_000)


def encoded(text: str) -> Iterator[tuple[str, bytes]]:
    for name in ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp037", "utf-8-sig", "utf-7"):
        declared = f'<?xml version="1.0" encoding="{name.removesuffix("-sig")}"?>{text}'
        yield f"in {name}", declared.encode(name)
    hidden = text.replace("<!", "+ADwAIQ-").replace("<", "+ADw-").replace(">", "+AD4-")
    yield "hidden in utf-7", f'<?xml version="1.0" encoding="UTF-7"?>{hidden}'.encode()


def hostile(file_url: str, http_url: str) -> dict[str, bytes]:
    """Return the documents, by what they try."""
    texts = [*bombs(), *external(file_url, "file"), *external(http_url, "http"), *large()]
    made = {name: text.encode() for name, text in texts}
    return made | dict(encoded(f'<!DOCTYPE x [<!ENTITY x SYSTEM "{file_url}">]>{titled("&x;")}'))


class Canary:
    """A server that counts who comes, and a file whose words are known."""

    def __init__(self, folder: Path) -> None:
        """Write the file; the server is started by the fixture."""
        path = folder / "canary.txt"
        path.write_text(CANARY, encoding="utf-8")
        self.file_url = path.as_uri()
        self.hits: list[str] = []
        canary = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                canary.hits.append(self.path)
                self.send_response(200)
                self.end_headers()
                self.wfile.write(CANARY.encode())

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http_url = f"http://127.0.0.1:{self.server.server_port}/canary"


@pytest.fixture
def canary(tmp_path: Path) -> Iterator[Canary]:
    canary = Canary(tmp_path)
    thread = threading.Thread(target=canary.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield canary
    canary.server.shutdown()
    thread.join()
    canary.server.server_close()


HARMLESS = {
    *("file schema", "http schema", "file style sheet", "http style sheet"),
    *("one attribute", "attributes", "namespaces"),
}
"""What only names an address, which a reader of metadata has no reason to visit, and what has more
attributes than it needs: they are read and forgotten."""


def test_nothing_is_read_and_nobody_is_called(canary: Canary) -> None:
    documents = hostile(canary.file_url, canary.http_url)
    assert len(documents) >= 50
    for name, document in documents.items():
        try:
            record = oai_dc.read(document)
        except MetadataError as refused:
            assert CANARY not in str(refused), name  # noqa: PT017  # harmless ones are read
            assert name not in HARMLESS, name
        else:
            assert name in HARMLESS, name
            assert record.title.value == "x", name
    assert canary.hits == []


class _Fetching(etree.Resolver):
    """What libxml2 itself did before 2.14: go and get it."""

    def resolve(self, system_url: str, _: str, context: object = None) -> object:
        if not system_url.startswith("http:"):
            return None
        with urlopen(system_url) as answer:  # noqa: S310  # the canary's own
            return self.resolve_string(answer.read(), context, base_url=system_url)


def unguarded() -> etree.XMLParser:
    parser = etree.XMLParser(resolve_entities=True, load_dtd=True, no_network=False, huge_tree=True)
    parser.resolvers.add(_Fetching())
    return parser


def test_the_same_documents_reach_file_and_server_without_the_guard(canary: Canary) -> None:
    """The twin."""
    leaked = set()
    for name, document in hostile(canary.file_url, canary.http_url).items():
        if name.startswith(("file", "http", "in ")):
            try:
                text = etree.fromstring(document, unguarded()).xpath("string()")
            except etree.LxmlError:
                continue  # a canary is no DTD
            if CANARY in str(text):
                leaked.add(name)
    for place in ("file", "http"):
        for way in ("entity", "public", "after a comment", "declared"):
            assert f"{place} {way}" in leaked
    assert {"in utf-16", "in utf-8-sig"} <= leaked
    assert len(canary.hits) >= 7, "four entities, two subsets, one parameter entity"


def outcomes(reader: str, *names: str) -> dict[str, str]:
    """Read documents in a process that has little memory to spare; say what came of each."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, __file__, reader, *names],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    said: dict[str, str] = json.loads(done.stdout)
    return said


def ran_out(outcome: str) -> bool:
    # libxml2 without memory sometimes does not know what went wrong.
    return "memory" in outcome.lower() or "unknown error" in outcome


def test_memory_does_not_grow() -> None:
    said = outcomes("guarded")
    assert len(said) >= 50
    assert not {name: outcome for name, outcome in said.items() if ran_out(outcome)}


def test_memory_grows_without_the_guard() -> None:
    """The twin."""
    said = outcomes("unguarded", "laughs 3 10", "laughs 7 10", "small elements")
    assert said["laughs 3 10"] == "3000 characters"
    assert "amplification" in said["laughs 7 10"], "libxml2 saw them, and has a guard of its own"
    assert ran_out(said["small elements"])


def main(reader: str, names: list[str]) -> None:
    """Be the process with little memory."""
    documents = hostile("file:///nowhere", "http://127.0.0.1:9/")
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    limit = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    said = {}
    for name in names or documents:
        try:
            if reader == "guarded":
                oai_dc.read(documents[name])
            else:
                text = etree.fromstring(documents[name], unguarded()).xpath("string()")
                said[name] = f"{len(str(text))} characters"
                continue
        except (MetadataError, MemoryError, etree.LxmlError, AttributeError) as error:
            said[name] = f"{type(error).__name__} {error}"
        else:
            said[name] = "read"
    sys.stdout.write(json.dumps(said))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
