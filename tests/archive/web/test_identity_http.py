"""An archive and a resolver that present themselves as their settings say."""

from __future__ import annotations

import re
import struct
import zlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest

from ibi.foundation.pages.identity import LARGEST_LOGO
from ibi.foundation.pages.identity_settings import MAX_IMPRINT
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.program import ProgramServer
from tests.support.servers.resolver import ResolverServer

HTML: Final = "text/html"
SVG: Final = (
    b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 2 1"><path d="M0 0h2v1z"/></svg>'
)
IMPRINT: Final = "Biblioteca de Exemplo\nRua <das> Flores, 1\n\nDiretora: M. Alencar"


def png() -> bytes:
    """Return an image of one pixel."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + content))
        return struct.pack(">I", len(content)) + kind + content + check

    head = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    pixel = chunk(b"IDAT", zlib.compress(b"\0\0\0\0"))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + pixel + chunk(b"IEND", b"")


LOGOS: Final = {
    "image/svg+xml": SVG,
    "image/png": png(),
    "image/webp": b"RIFF\x1a\0\0\0WEBPVP8L\x0d\0\0\0\x2f\0\0\0\x10\x07\x10\x11\x11\x88\xfe\x07\0",
    "image/jpeg": b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0\xff\xd9",
}


@pytest.fixture(params=[ArchiveServer, ResolverServer])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> ArchiveServer | ResolverServer:
    made: ArchiveServer | ResolverServer = request.param(tmp_path)
    return made


def home(server: ProgramServer, language: str = "en") -> str:
    answer = server.get("/", Accept=HTML, **{"Accept-Language": language})
    assert answer.status == 200
    return answer.body.decode()


def linked(page: str, pattern: str) -> str:
    [address] = re.findall(pattern, page)
    return str(address)


def test_settings_give_a_site_its_identity(server: ProgramServer) -> None:
    (server.data / "logo.svg").write_bytes(SVG)
    server.set(
        name="Acervo <de> Exemplo",
        logo="logo.svg",
        accent="#1351b4",
        contact="ajuda@example.org",
        imprint=IMPRINT,
    )
    with server:
        page = home(server)
        assert "Acervo &lt;de&gt; Exemplo" in page
        assert 'href="mailto:ajuda@example.org">Contact: ajuda@example.org<' in page
        logo = server.get(linked(page, r'<img class="logo" src="([^"]+)" alt="">'))
        assert (logo.body, logo.headers["content-type"]) == (SVG, "image/svg+xml")
        assert "sandbox" in logo.headers["content-security-policy"]
        assert logo.headers["x-content-type-options"] == "nosniff"
        assert logo.headers["cache-control"] == "public, max-age=31536000, immutable"
        sheet = server.get(linked(page, r'<link rel="stylesheet" href="(/static/accent[^"]+)"'))
        assert sheet.body == b":root { --accent: #1351b4 }\n"
        assert sheet.headers["content-type"].startswith("text/css")
        assert linked(page, r'href="([^"]+)">Imprint<') == "/imprint"
        imprint = server.get("/imprint?lang=pt", Accept=HTML)
        assert imprint.status == 200
        assert imprint.headers["content-language"] == "pt"
        text = imprint.body.decode()
        assert "<h1>Expediente</h1>" in text
        assert "Biblioteca de Exemplo<br>Rua &lt;das&gt; Flores, 1</p>" in text
        assert 'href="/imprint?lang=pt">Expediente<' in text
        assert "/imprint?lang=en" in text


def test_without_settings_a_site_has_the_mark_of_ibi_and_no_imprint(server: ProgramServer) -> None:
    with server:
        page = home(server)
        assert "<img" not in page
        assert "accent.css" not in page
        assert "Imprint" not in page
        assert ">Contact" not in page
        for path in ("/imprint", "/static/logo", "/static/accent.css"):
            assert server.get(path, Accept=HTML).status in {400, 404}


def test_contact_and_imprint_may_be_pages_elsewhere(server: ProgramServer) -> None:
    server.set(contact="https://example.org/help?a=1&b=2", imprint="https://example.org/imprint")
    with server:
        page = home(server)
        assert 'href="https://example.org/help?a=1&amp;b=2">Contact<' in page
        assert 'href="https://example.org/imprint">Imprint<' in page
        register = server.get("/register", Accept=HTML)
        if register.status == 200:  # at a resolver
            text = register.body.decode()
            assert text.count('href="https://example.org/help?a=1&amp;b=2">Contact<') == 2
            assert text.index('id="domain"') < text.index('id="operator"')
        assert server.get("/imprint", Accept=HTML).status == 404


@pytest.mark.parametrize("media_type", LOGOS)
def test_a_logo_is_served_by_what_it_is_whatever_its_name(tmp_path: Path, media_type: str) -> None:
    archive = ArchiveServer(tmp_path)
    (tmp_path / "picture.gif").write_bytes(LOGOS[media_type])
    archive.set(logo=str(tmp_path / "picture.gif"))
    with archive:
        logo = archive.get("/static/logo")
        assert (logo.headers["content-type"], logo.body) == (media_type, LOGOS[media_type])
        # Without its version it may be another one soon.
        assert logo.headers["cache-control"] == "public, max-age=3600"
        again = archive.get("/static/logo", **{"If-None-Match": logo.headers["etag"]})
        assert (again.status, again.body) == (304, b"")


def test_all_processes_show_the_identity(tmp_path: Path) -> None:
    archive = ArchiveServer(tmp_path)
    (archive.data / "logo.svg").write_bytes(SVG)
    archive.set(logo="logo.svg", accent="#abc", imprint="Text", publisher="A press", workers=2)
    with archive:
        for _ in range(8):
            assert archive.get("/static/logo").body == SVG
            assert archive.get("/static/accent.css").body == b":root { --accent: #abc }\n"
            assert archive.get("/imprint", Accept=HTML).status == 200


def test_a_missing_logo_does_not_stop_a_site(server: ProgramServer) -> None:
    server.set(logo="lost.png")
    with server:
        assert "<img" not in home(server)
        assert "There is no logo" in server.log()


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"GIF89a" + bytes(20), "logo.gif' is no image: expected SVG, PNG, WebP or JPEG"),
        (b"<html><script>alert(1)</script></html>", "is no image"),
        (b"", "is no image"),
        (png() + bytes(LARGEST_LOGO), "is too large: at most 65,536 bytes"),
    ],
)
def test_what_is_no_logo_is_refused_at_the_start(
    server: ArchiveServer | ResolverServer, content: bytes, fault: str
) -> None:
    (server.data / "logo.gif").write_bytes(content)
    server.set(logo="logo.gif")
    for workers in ("1", "2"):
        refused = server.ibi("serve", "--workers", workers)
        assert refused.returncode == 1
        assert fault in refused.stderr
        assert refused.stderr.count("\n") == 1


def test_a_folder_is_no_logo(tmp_path: Path) -> None:
    archive = ArchiveServer(tmp_path)
    archive.set(logo=".")
    assert "logo = '.' cannot be read: Is a directory." in archive.ibi("serve").stderr


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("accent", "blue", "a colour, as #1351b4"),
        ("accent", "#12345", "a colour, as #1351b4"),
        ("contact", "somebody", "an e-mail address, or the http(s) URL of a page"),
        ("contact", "ftp://example.org", "an e-mail address, or the http(s) URL of a page"),
        ("imprint", "a\x1b[2J", "a text of at most 20000 characters"),
        ("imprint", "x" * (MAX_IMPRINT + 1), "a text of at most 20000 characters"),
        ("logo", "a\nb", "the path of an image"),
        ("publisher", "a\nb", "one line, the name of a publisher"),
    ],
)
def test_a_wrong_setting_is_refused_by_its_name(
    tmp_path: Path, name: str, value: str, expected: str
) -> None:
    archive = ArchiveServer(tmp_path)
    archive.set(**{name: value})
    refused = archive.ibi("serve")
    assert refused.returncode == 1
    assert f"{name} = " in refused.stderr
    assert expected in refused.stderr


def test_init_takes_the_identity(tmp_path: Path) -> None:
    logo = tmp_path / "logo.png"
    logo.write_bytes(png())
    identity = ("--logo", str(logo), "--accent", "#1351b4", "--contact", "ajuda@example.org")
    archive = ArchiveServer(tmp_path, *identity, "--imprint", "Text", "--publisher", "A press")
    with archive:
        assert archive.get("/static/logo").body == png()
        page = home(archive)
        assert "mailto:ajuda@example.org" in page
        assert "accent.css" in page
        assert archive.get("/imprint", Accept=HTML).status == 200


def test_init_refuses_what_is_no_logo(tmp_path: Path) -> None:
    archive = ArchiveServer(tmp_path)
    (tmp_path / "logo").write_bytes(b"no")
    refused = archive.ibi("init", "--data", str(tmp_path / "new"), "--logo", str(tmp_path / "logo"))
    assert "is no image" in refused.stderr
    assert not (tmp_path / "new").exists()


def test_the_publisher_stands_in_for_records_that_name_none(tmp_path: Path) -> None:
    archive = ArchiveServer(tmp_path)
    archive.set(publisher="Example Press")
    with archive:
        bare = archive.deposit({"a.txt": b"a"}, metadata={"titles": ["A"], "dates": ["2026"]})
        other = archive.deposit(
            {"b.txt": b"b"}, metadata={"titles": ["B"], "publishers": ["Theirs"]}
        )
        for name, written in (
            ("bibtex", "{Example Press}"),
            ("ris", "PB  - Example Press"),
            ("csl", '"publisher": "Example Press"'),
            ("oai_dc", "<dc:publisher>Example Press</dc:publisher>"),
        ):
            page = f"/col/{bare['metadata']['rep']}/doc/metadata?choice={name}"
            assert written in archive.get(page).body.decode()
            asked = archive.api("GET", f"items/{bare['rep']}/metadata?format={name}")
            assert written in asked.body.decode()
            theirs = archive.api("GET", f"items/{other['rep']}/metadata?format={name}")
            assert "Theirs" in theirs.body.decode()
            assert "Example Press" not in theirs.body.decode()
        # The record itself is as it was deposited.
        record = archive.api("GET", f"items/{bare['rep']}/metadata").json()
        assert "publishers" not in record
        shown = archive.get(f"/col/{bare['metadata']['rep']}/doc/metadata", Accept=HTML)
        assert "Example Press" in shown.body.decode()


def tags(page: str) -> dict[str, str]:
    """Return what the head of a page says to engines and to other sites."""
    head = page.partition("</head>")[0]
    found = dict(re.findall(r'<meta (?:name|property)="([^"]+)" content="([^"]*)">', head))
    return found | dict(re.findall(r'<link rel="(canonical)" href="([^"]+)">', head))


def test_pages_say_what_they_are_to_engines_and_to_other_sites(tmp_path: Path) -> None:
    archive = ArchiveServer(tmp_path)
    (archive.data / "logo.png").write_bytes(png())
    archive.set(name='A "good" archive', logo="logo.png")
    with archive:
        item = archive.deposit(
            {"a.png": png()},
            metadata={"titles": ["A <b>"], "descriptions": ['What "it" is']},
        )
        limited = archive.deposit({"a.png": png()}, readers=["10.0.0.0/8"])
        year = datetime.now(UTC).year
        for path in ("/", "/search?q=a%26b", "/browse", f"/statistics?year={year}", "/statistics"):
            sep = "&" if "?" in path else "?"
            found = tags(archive.get(f"{path}{sep}lang=pt", Accept=HTML).body.decode())
            assert found["canonical"] == found["og:url"] == f"{archive.address}{path}"
            assert found["og:title"]
            assert found["description"] == found["og:description"] != ""
            assert found["og:site_name"] == "A &#34;good&#34; archive"
            assert found["og:locale"] == "pt_BR"
            assert found["og:image"].startswith(f"{archive.address}/static/logo?v=")
        page = f"/col/{item['metadata']['rep']}/doc/metadata"
        found = tags(archive.get(page, Accept=HTML).body.decode())
        assert found["canonical"] == f"{archive.address}{page}"
        assert found["og:title"] == "A &lt;b&gt;"
        assert found["og:url"] == item["persistent_url"]
        assert found["description"] == "What &#34;it&#34; is"
        assert found["og:image"] == f"{archive.address}/col/{item['rep']}/doc/a.png"
        page = f"/col/{limited['metadata']['rep']}/doc/metadata"
        assert "og:image" not in tags(archive.get(page, Accept=HTML).body.decode())
        missing = tags(archive.get("/nothing", Accept=HTML).body.decode())
        assert "canonical" not in missing
        assert missing["robots"] == "noindex"
