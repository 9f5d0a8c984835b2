"""The API of an archive: every route, who may use it, and what it refuses."""

from __future__ import annotations

import base64
import hashlib
import io
import re
import socket
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from tests.support.doubles.resolver import ResolverDouble
from tests.support.servers.archive import ArchiveServer, files_in
from tests.support.servers.postgres import DATABASES, database_options
from tests.support.servers.program import API, refused
from tests.support.waiting import PATIENCE, wait_until

SCOPES = ("read", "deposit", "administer")
UNKNOWN = "LK47B6W/362SFKH"


@pytest.fixture(scope="module", params=DATABASES)
def archive(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ArchiveServer]:
    options = database_options(request, "--catalogue")
    with ArchiveServer(tmp_path_factory.mktemp(request.param), *options) as started:
        yield started


def digest(content: bytes, name: str = "sha-256") -> str:
    value = hashlib.new(name.replace("-", ""), content).digest()
    return f"{name}=:{base64.b64encode(value).decode()}:"


# Deposits


def test_a_deposit_becomes_an_item(archive: ArchiveServer) -> None:
    opened = archive.api("POST", "deposits", {"metadata": {"titles": ["T"]}, "language": "pt-BR"})
    assert opened.status == 201
    id_ = opened.json()["id"]
    assert opened.headers["location"] == f"{archive.address}{API}/deposits/{id_}"
    content = b"\x00\xff" * 700_000
    sent = archive.send(id_, "pasta/Relatório.bin", content)
    assert sent.status == 201
    assert sent.headers["upload-complete"] == "?1"
    assert sent.headers["upload-offset"] == str(len(content))
    facts = sent.json()
    assert facts["sha256"] == hashlib.sha256(content).hexdigest()
    assert facts["sha512"] == hashlib.sha512(content).hexdigest()
    shown = archive.api("GET", f"deposits/{id_}").json()
    assert shown["files"] == [
        {
            "path": "pasta/Relatório.bin",
            "size": len(content),
            "whole": True,
            "sha256": facts["sha256"],
        }
    ]
    item = archive.complete(id_)
    assert item["state"] == "Original"
    assert item["language"] == "pt-BR"
    assert item["target"] == "pasta/Relatório.bin"
    assert archive.get(urlsplit(item["url"]).path).body == content
    place = archive.data / "col" / item["rep"] / "doc" / "pasta" / "Relatório.bin"
    assert place.read_bytes() == content
    files = archive.api("GET", f"items/{item['ibip']}/files").json()
    assert [file["path"] for file in files["files"]] == ["pasta/Relatório.bin"]


def test_a_deposit_is_completed_once(archive: ArchiveServer) -> None:
    id_ = archive.open_deposit()
    assert archive.send(id_, "a.txt", b"a").status == 201
    first = archive.complete(id_)
    before = archive.snapshot()
    assert archive.complete(id_) == first
    assert archive.snapshot() == before
    assert archive.api("GET", f"deposits/{id_}").json()["completed"] == first["rep"]
    refused(archive.send(id_, "b.txt", b"b"), 409, "state")
    refused(archive.api("DELETE", f"deposits/{id_}"), 409, "state")
    refused(archive.api("GET", f"deposits/{id_}/files/a.txt"), 409, "state", "is completed")
    refused(archive.api("DELETE", f"deposits/{id_}/files/a.txt"), 409, "state")
    refused(archive.api("POST", f"deposits/{id_}/unpacking", {"path": "a.txt"}), 409, "state")
    assert archive.snapshot() == before


def test_nothing_of_an_open_deposit_is_seen(archive: ArchiveServer) -> None:
    before = archive.snapshot()
    id_ = archive.open_deposit()
    assert archive.send(id_, "a.txt", b"a").status == 201
    assert archive.snapshot() == before
    assert archive.api("DELETE", f"deposits/{id_}").status == 204
    refused(archive.api("GET", f"deposits/{id_}"), 404, "unknown")
    refused(archive.api("POST", f"deposits/{id_}/completion"), 404, "unknown")
    refused(archive.send(id_, "a.txt", b"a"), 404, "unknown")
    assert archive.snapshot() == before
    assert not list((archive.data / "incoming").glob(f"{id_}*"))


@pytest.mark.parametrize("name", ["sha-256", "sha-512"])
def test_a_checksum_is_checked(archive: ArchiveServer, name: str) -> None:
    id_ = archive.open_deposit()
    wrong = archive.send(id_, "a.txt", b"abc", Repr_Digest=digest(b"abd", name))
    refused(wrong, 422, "checksum", "Send it again")
    assert archive.api("GET", f"deposits/{id_}").json().get("files", []) == []
    good = archive.send(id_, "a.txt", b"abc", Repr_Digest=digest(b"abc", name))
    assert good.status == 201
    again = archive.send(id_, "a.txt", b"abc", Content_Digest=digest(b"abc", name))
    assert again.status == 201
    refused(archive.send(id_, "a.txt", b"x", Content_Digest=digest(b"abc", name)), 422)


def test_a_digest_of_a_part_is_not_taken_for_one_of_the_whole(archive: ArchiveServer) -> None:
    id_ = archive.open_deposit()
    assert archive.send(id_, "a.txt", b"abc", Upload_Complete="?0").status == 200
    path = f"deposits/{id_}/files/a.txt"
    part = archive.api("PATCH", path, b"de", Upload_Offset="3", Content_Digest=digest(b"de"))
    refused(part, 400, "bad-request", "Repr-Digest")
    whole = archive.api("PATCH", path, b"de", Upload_Offset="3", Repr_Digest=digest(b"abcde"))
    assert (whole.status, whole.json()["size"]) == (201, 5)


@pytest.mark.parametrize(
    "headers",
    [
        {"Repr_Digest": "md5=:AAAA:"},
        {"Repr_Digest": "sha-256=nothing"},
        {"Repr_Digest": "sha-256=:A:"},
        {"Upload_Complete": "yes"},
        {"Upload_Offset": "5"},
        {"Upload_Offset": "-1"},
        {"Upload_Offset": "9" * 30},
        {"Upload_Offset": "\xb2"},
    ],
)
def test_headers_that_cannot_be_read_are_refused(
    archive: ArchiveServer, headers: dict[str, str]
) -> None:
    id_ = archive.open_deposit()
    refused(archive.send(id_, "a.txt", b"abc", **headers), 400, "bad-request")
    assert archive.api("GET", f"deposits/{id_}").json().get("files", []) == []


def test_a_file_may_come_in_parts(archive: ArchiveServer) -> None:
    id_ = archive.open_deposit()
    first = archive.send(id_, "big.bin", b"0123", Upload_Complete="?0")
    assert first.status == 200
    assert (first.headers["upload-offset"], first.headers["upload-complete"]) == ("4", "?0")
    path = f"deposits/{id_}/files/big.bin"
    refused(archive.api("PATCH", path, b"x"), 400, "bad-request", "Upload-Offset")
    for offset in ("0", "3", "5"):
        answer = archive.api("PATCH", path, b"", Upload_Offset=offset, Upload_Complete="?0")
        if offset != "0":
            refused(answer, 409, "state", "go on from there")
    first = archive.send(id_, "big.bin", b"0123", Upload_Complete="?0")
    refused(archive.api("POST", f"deposits/{id_}/completion"), 409, "state", "not come whole")
    second = archive.api("PATCH", path, b"45", Upload_Offset="4", Upload_Complete="?0")
    assert second.json() == {"path": "big.bin", "size": 6, "whole": False}
    archive.restart()
    state = archive.api("GET", path)
    assert state.headers["upload-offset"] == "6"
    last = archive.api("PATCH", path, b"6789", Upload_Offset="6", Repr_Digest=digest(b"0123456789"))
    assert last.status == 201
    item = archive.complete(id_)
    assert archive.get(urlsplit(item["url"]).path).body == b"0123456789"


def test_a_cut_connection_costs_only_what_was_under_way(archive: ArchiveServer) -> None:
    id_ = archive.open_deposit()
    content = bytes(range(256)) * 20_000
    parts = urlsplit(archive.address)
    target = f"{API}/deposits/{id_}/files/big.bin"
    head = (
        f"PUT {target} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {archive.token}\r\n"
        f"Content-Length: {len(content)}\r\n\r\n"
    )
    with socket.create_connection((parts.hostname, parts.port), timeout=PATIENCE) as connection:
        connection.sendall(head.encode() + content[:3_000_000])
    path = f"deposits/{id_}/files/big.bin"
    wait_until(lambda: archive.api("GET", path).headers.get("upload-offset") == "3000000")
    state = archive.api("GET", path)
    assert state.headers["upload-complete"] == "?0"
    rest = archive.api(
        "PATCH", path, content[3_000_000:], Upload_Offset="3000000", Repr_Digest=digest(content)
    )
    assert rest.status == 201
    assert archive.get(urlsplit(archive.complete(id_)["url"]).path).body == content


def test_a_file_without_a_length_is_streamed(archive: ArchiveServer) -> None:
    id_ = archive.open_deposit()
    parts = urlsplit(archive.address)
    head = (
        f"PUT {API}/deposits/{id_}/files/s.bin HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        f"Authorization: Bearer {archive.token}\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    with socket.create_connection((parts.hostname, parts.port), timeout=PATIENCE) as connection:
        connection.sendall(head.encode())
        for _ in range(100):
            connection.sendall(b"2710\r\n" + b"x" * 10_000 + b"\r\n")
        connection.sendall(b"0\r\n\r\n")
        assert b" 201 " in connection.recv(65_536).partition(b"\r\n")[0]
    assert archive.api("GET", f"deposits/{id_}").json()["files"][0]["size"] == 1_000_000


BAD_PATHS = [
    "../x",
    "a/../../x",
    "/etc/passwd",
    "a//b",
    "a/",
    "a\\b",
    "a\x00b",
    "a\nb",
    "nul.txt",
    "a.",
    "a ",
    "a:b",
    "x" * 256,
    "/".join(["a"] * 41),
    "\u202egpj.exe",
    ".",
    "..",
    "",
]


@pytest.mark.parametrize("path", BAD_PATHS)
def test_names_that_file_systems_refuse_are_refused(archive: ArchiveServer, path: str) -> None:
    id_ = archive.open_deposit()
    # Encoded, or the client itself would tidy it up.
    answer = archive.api(
        "PUT", f"deposits/{id_}/files/{quote(path, safe='').replace('.', '%2E')}", b"x"
    )
    refused(answer, 404 if path == "a\nb" else 400)
    assert archive.api("GET", f"deposits/{id_}").json().get("files", []) == []
    staged = archive.data / "incoming" / id_
    assert not [path for path in staged.rglob("*") if path.is_file()]


def test_names_that_clash_are_refused(archive: ArchiveServer) -> None:
    id_ = archive.open_deposit(target="A.txt")
    for path in ("A.txt", "a.txt"):
        assert archive.send(id_, path, b"x").status == 201
    before = archive.snapshot()
    refused(archive.api("POST", f"deposits/{id_}/completion"), 400, "bad-request", "side by side")
    assert archive.snapshot() == before
    assert archive.api("DELETE", f"deposits/{id_}/files/a.txt").status == 204
    refused(archive.api("DELETE", f"deposits/{id_}/files/a.txt"), 404, "unknown")
    archive.complete(id_)


def test_a_file_where_a_folder_is_needed_is_refused(archive: ArchiveServer) -> None:
    id_ = archive.open_deposit(target="a")
    assert archive.send(id_, "a", b"x").status == 201
    refused(archive.send(id_, "a/b", b"x"), 400, "bad-request")
    refused(archive.send(id_, "a/b/c", b"x"), 400, "bad-request")
    assert archive.send(id_, "d/e", b"x").status == 201
    refused(archive.send(id_, "d", b"x"), 400, "bad-request")


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    archive = ArchiveServer(tmp_path)
    archive.set(largest_file=1000)
    with archive:
        id_ = archive.open_deposit()
        refused(archive.send(id_, "a.bin", b"x" * 1001), 413, "too-large", "1000 bytes")
        assert archive.send(id_, "b.bin", b"x" * 1000).status == 201
        assert archive.send(id_, "c.bin", b"x" * 900, Upload_Complete="?0").status == 200
        more = archive.api("PATCH", f"deposits/{id_}/files/c.bin", b"x" * 101, Upload_Offset="900")
        refused(more, 413, "too-large")


def zipped(**files: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for name, content in files.items():
            file.writestr(name.replace("__", "/"), content)
    return packed.getvalue()


def tarred(**files: bytes) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as file:
        for name, content in files.items():
            entry = tarfile.TarInfo(name.replace("__", "/"))
            entry.size = len(content)
            file.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


@pytest.mark.parametrize(("name", "packed"), [("a.zip", zipped), ("a.tar.gz", tarred)])
def test_packed_files_are_taken_apart_on_request(
    archive: ArchiveServer, name: str, packed: Callable[..., bytes]
) -> None:
    id_ = archive.open_deposit(target="in/index")
    assert archive.send(id_, name, packed(index=b"i", data__x=b"y")).status == 201
    answer = archive.api("POST", f"deposits/{id_}/unpacking", {"path": name, "folder": "in"})
    assert answer.status == 200
    assert sorted(answer.json()["files"]) == ["in/data/x", "in/index"]
    files = archive.api("GET", f"deposits/{id_}").json()["files"]
    assert [file["path"] for file in files] == ["in/data/x", "in/index"]
    item = archive.complete(id_)
    assert archive.get(urlsplit(item["url"]).path).body == b"i"


def test_hostile_packed_files_leave_nothing_behind(archive: ArchiveServer) -> None:
    id_ = archive.open_deposit()
    hostile = {
        "slip.zip": zipped(good=b"x", **{"..__..__evil": b"x"}),
        "slip.tar": tarred(good=b"x", __etc__evil=b"x"),
        "none.zip": b"no zip at all",
        "cut.zip": zipped(a=b"x" * 1000)[:200],
    }
    for name, content in hostile.items():
        assert archive.send(id_, name, content).status == 201
    before = archive.api("GET", f"deposits/{id_}").json()
    for name in hostile:
        answer = archive.api("POST", f"deposits/{id_}/unpacking", {"path": name})
        refused(answer, 400, "bad-request")
    refused(archive.api("POST", f"deposits/{id_}/unpacking", {"path": "x.zip"}), 404, "unknown")
    refused(archive.api("POST", f"deposits/{id_}/unpacking", {"path": "../x"}), 400)
    assert archive.api("GET", f"deposits/{id_}").json() == before


BAD_DEPOSITS: list[tuple[object, int]] = [
    (b"", 400),
    (b"{", 400),
    (b"[]", 400),
    (b"\xff\xfe", 400),
    (b'{"metadata": {"titles": ["\\ud800"]}}', 400),
    (b"[" * 100_000, 400),
    (b" " * (3 << 20), 413),
    ({}, 400),
    ({"metadata": {}}, 400),
    ({"metadata": {"titles": [" "]}}, 400),
    ({"metadata": {"titles": ["a\x00b"]}}, 400),
    ({"metadata": {"titles": ["x" * 70_000]}}, 400),
    ({"metadata": {"titles": ["a"], "nonsense": 1}}, 400),
    ({"metadata": {"titles": ["a"], "dates": ["yesterday"]}}, 400),
    ({"metadata": {"titles": ["a"]}, "language": "xx"}, 400),
    ({"metadata": {"titles": ["a"]}, "language": "portuguese"}, 400),
    ({"metadata": {"titles": ["a"]}, "unknown": 1}, 400),
    ({"metadata": {"titles": ["a"]}, "target": "../x"}, 400),
    ({"metadata": {"titles": ["a"]}, "service": "javascript:alert(1)"}, 400),
    ({"metadata": {"titles": ["a"]}, "service": "http://user@x/"}, 400),
    ({"metadata": {"titles": ["a"]}, "service": "http://example.org", "target": "a"}, 400),
    ({"metadata": {"titles": ["a"]}, "label": "no label"}, 400),
    ({"metadata": {"titles": ["a"]}, "label": UNKNOWN}, 404),
    ({"metadata": {"titles": ["a"]}, "further_names": ["x"]}, 400),
    ({"metadata": {"titles": ["a"]}, "translation_of": UNKNOWN}, 400),
    ({"metadata": {"titles": ["a"]}, "translation_of": UNKNOWN, "language": "pt"}, 404),
    ({"metadata": {"titles": ["a"]}, "edition_of": "nothing"}, 400),
    ({"metadata": {"titles": ["a"]}, "remove": ["x"]}, 400),
    ({"item": UNKNOWN}, 404),
    ({"item": UNKNOWN, "metadata": {"titles": ["a"]}}, 400),
    ({"item": UNKNOWN, "language": "pt"}, 400),
    ({"item": UNKNOWN, "label": UNKNOWN}, 400),
    ({"item": "no label"}, 400),
    ({"item": "\x00"}, 400),
]


@pytest.mark.parametrize("number", range(len(BAD_DEPOSITS)))
def test_bad_descriptions_are_refused_at_once(archive: ArchiveServer, number: int) -> None:
    body, status = BAD_DEPOSITS[number]
    before = archive.snapshot()
    # What is too large is answered before it is read to its end.
    refused(archive.api("POST", "deposits", body, Connection="close"), status)
    assert archive.snapshot() == before


def test_a_target_that_did_not_come_is_refused(archive: ArchiveServer) -> None:
    id_ = archive.open_deposit(target="index.html")
    assert archive.send(id_, "other.html", b"x").status == 201
    before = archive.snapshot()
    refused(archive.api("POST", f"deposits/{id_}/completion"), 400, "bad-request", "index.html")
    assert archive.snapshot() == before
    assert archive.send(id_, "index.html", b"x").status == 201
    assert archive.complete(id_)["target"] == "index.html"


def test_the_first_of_several_files_is_the_target_if_none_was_chosen(
    archive: ArchiveServer,
) -> None:
    id_ = archive.open_deposit()
    for path in ("b", "a"):
        archive.send(id_, path, b"x")
    made = archive.complete(id_)
    assert (made["target"], made["target_chosen"]) == ("a", False)


def test_the_target_may_be_named_when_all_files_have_come(archive: ArchiveServer) -> None:
    id_ = archive.open_deposit()
    for path in ("a.txt", "b.txt"):
        assert archive.send(id_, path, b"x").status == 201
    refused = archive.api("POST", f"deposits/{id_}/completion", {"target": "c.txt"})
    assert refused.status == 400
    made = archive.api("POST", f"deposits/{id_}/completion", {"target": "b.txt"})
    assert made.json()["target"] == "b.txt"


def test_files_are_replaced_added_and_removed(archive: ArchiveServer) -> None:
    item = archive.deposit({"a.txt": b"one", "b.txt": b"b"}, target="a.txt")
    label = item["rep"]
    id_ = archive.open_deposit(item=label, metadata={}, remove=["b.txt"])
    archive.send(id_, "a.txt", b"two")
    archive.send(id_, "c.txt", b"c")
    assert archive.get(f"/col/{label}/doc/a.txt").body == b"one"
    revised = archive.complete(id_)
    assert revised["rep"] == label
    assert [file["path"] for file in revised["files"]] == ["a.txt", "c.txt"]
    assert archive.get(f"/col/{label}/doc/a.txt").body == b"two"
    assert archive.get(f"/col/{label}/doc/b.txt").status == 404
    for wanted in ({"remove": ["nothing.txt"]}, {}):
        id_ = archive.open_deposit(item=label, metadata={}, **wanted)
        before = archive.snapshot()
        refused(archive.api("POST", f"deposits/{id_}/completion"), 400, "bad-request")
        assert archive.snapshot() == before
    service = archive.deposit(service="https://service.example/")
    for other in (archive.service, item["metadata"]["rep"], service["rep"]):
        refused(archive.api("POST", "deposits", {"item": other}), 409, "state")


# Items


def test_an_item_is_amended(archive: ArchiveServer) -> None:
    item = archive.deposit({"a.txt": b"a", "b.txt": b"b"}, target="a.txt")
    other = archive.deposit({"a.txt": b"a"})
    path = f"items/{item['rep']}"
    amended = archive.api(
        "PATCH",
        path,
        {
            "metadata": {"titles": ["Better"]},
            "language": "en",
            "target": "b.txt",
            "list_public": False,
            "next_edition": other["ibip"],
            "translations": {"pt": UNKNOWN},
            "unchecked": True,
            "further_names": ["dpi.inpe.br/archive/2001/01.01.01.01"]
            if "sqlite" in str(archive.folder)
            else ["dpi.inpe.br/archive/2002/01.01.01.01"],
        },
    )
    assert amended.status == 200, amended.body
    found = amended.json()
    assert found["record"]["titles"] == [{"value": "Better"}]
    assert (found["language"], found["target"], found["list_public"]) == ("en", "b.txt", False)
    assert found["next_edition"]["rep"] == other["rep"]
    assert found["translations"] == {"pt": {"ibip": UNKNOWN}}
    assert len(found["further_names"]) == 1
    undone = archive.api(
        "PATCH", path, {"language": None, "next_edition": None, "translations": {"pt": None}}
    ).json()
    assert not {"language", "next_edition", "translations"} & undone.keys()
    assert undone["record"] == found["record"]


BAD_AMENDMENTS: list[tuple[object, int]] = [
    (b"", 400),
    (b"null", 400),
    ({"unknown": 1}, 400),
    ({"state": "Deleted"}, 400),
    ({"language": "xx"}, 400),
    ({"target": "nothing.txt"}, 409),
    ({"target": "A.txt"}, 409),
    ({"target": "a.txt/"}, 400),
    ({"target": ""}, 400),
    ({"target": "../x"}, 400),
    ({"target": None}, 400),
    ({"next_edition": "nothing"}, 400),
    ({"next_edition": "{itself}"}, 409),
    ({"translations": {"xx": UNKNOWN}}, 400),
    ({"translations": {"pt": "nothing"}}, 400),
    ({"further_names": ["nothing"]}, 400),
    ({"further_names": ["{other}"]}, 409),
    ({"metadata": {}}, 400),
    ({"metadata": {"titles": ["a"], "creators": [{"orcid": "1"}]}}, 400),
]


@pytest.mark.parametrize("number", range(len(BAD_AMENDMENTS)))
def test_bad_amendments_change_nothing(archive: ArchiveServer, number: int) -> None:
    body, status = BAD_AMENDMENTS[number]
    item, other = (archive.deposit({"a.txt": b"a"}) for _ in range(2))
    if isinstance(body, dict):
        body = _filled(body, {"{itself}": item["rep"], "{other}": other["rep"]})
    before = archive.snapshot()
    refused(archive.api("PATCH", f"items/{item['rep']}", body), status)
    assert archive.snapshot() == before


def _filled(value: Any, names: dict[str, str]) -> Any:  # noqa: ANN401  # JSON
    if isinstance(value, dict):
        return {name: _filled(each, names) for name, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, names) for each in value]
    return names.get(value, value) if isinstance(value, str) else value


def test_editions_do_not_go_in_a_circle(archive: ArchiveServer) -> None:
    one, two = (archive.deposit({"a.txt": b"a"}) for _ in range(2))
    assert archive.api("PATCH", f"items/{one['rep']}", {"next_edition": two["rep"]}).status == 200
    circle = archive.api("PATCH", f"items/{two['rep']}", {"next_edition": one["ibip"]})
    refused(circle, 409, "state", "leads back")
    taken = archive.api(
        "POST", "deposits", {"metadata": {"titles": ["x"]}, "edition_of": one["rep"]}
    )
    refused(taken, 409, "state", "already")


OAI_DC = """<oai_dc:dc xmlns:oai_dc="http://www.openarchives.org/OAI/2.0/oai_dc/"
  xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title></oai_dc:dc>"""


def test_metadata_are_replaced_by_json_or_xml(archive: ArchiveServer) -> None:
    item = archive.deposit({"a.txt": b"a"})
    path = f"items/{item['ibip']}/metadata"
    record = {"titles": [{"value": "Título", "language": "pt"}], "creators": ["Banon, Gerald"]}
    put = archive.api("PUT", path, record, Content_Type="application/json")
    assert put.status == 200
    read = archive.api("GET", path).json()
    assert read["titles"] == record["titles"]
    assert read["creators"] == [{"family": "Banon", "given": "Gerald"}]
    document = OAI_DC.format(title="Por XML").encode()
    assert archive.api("PUT", path, document, Content_Type="text/xml; charset=utf-8").status == 200
    assert archive.api("GET", path).json() == {"titles": [{"value": "Por XML"}]}
    oai_dc = archive.api("GET", f"{path}?format=oai_dc")
    assert oai_dc.headers["content-type"].startswith("text/xml")
    assert archive.api("PUT", path, oai_dc.body, Content_Type="application/xml").status == 200
    refused(archive.api("GET", f"{path}?format=marc"), 406, words="oai_dc")
    # What is said of an item may be asked for, and changed, under the label of its metadata.
    described = f"items/{item['metadata']['rep']}/metadata"
    assert archive.api("GET", described).json()["titles"] == [{"value": "Por XML"}]


@pytest.mark.parametrize(
    "document",
    [
        '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>' + OAI_DC.format(title="&e;"),
        '<!DOCTYPE x SYSTEM "http://127.0.0.1:1/x">' + OAI_DC.format(title="a"),
        '<!DOCTYPE x [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]>' + OAI_DC.format(title="&b;"),
        OAI_DC.format(title="&undefined;"),
        OAI_DC.format(title=" "),
        "<x/>",
        "no XML",
        "",
    ],
)
def test_hostile_xml_is_refused(archive: ArchiveServer, document: str) -> None:
    item = archive.deposit({"a.txt": b"a"})
    before = archive.snapshot()
    path = f"items/{item['rep']}/metadata"
    answer = archive.api("PUT", path, document.encode(), Content_Type="application/xml")
    refused(answer, 400, "bad-request")
    assert b"root:" not in answer.body
    assert archive.snapshot() == before


def test_a_deletion_is_for_ever(archive: ArchiveServer) -> None:
    item, other = (archive.deposit({"a.txt": b"bytes"}) for _ in range(2))
    path = f"items/{item['rep']}"
    for body in (b"", {}, {"reason": " "}, {"reason": "x\ny"}, {"reason": "x" * 2001}):
        refused(archive.api("POST", f"{path}/deletion", body), 400)
    refused(archive.api("POST", f"{path}/deletion", {"reason": "\u202e"}), 400, words="a reason")
    nothing = {"reason": "x", "replaced_by": "no label"}
    refused(archive.api("POST", f"{path}/deletion", nothing), 400)
    itself = {"reason": "x", "replaced_by": item["ibip"]}
    refused(archive.api("POST", f"{path}/deletion", itself), 409, "state")
    refused(archive.api("POST", f"items/{archive.service}/deletion", {"reason": "x"}), 409)
    metadata = archive.api("POST", f"items/{item['metadata']['rep']}/deletion", {"reason": "x"})
    refused(metadata, 400, "bad-request")
    assert archive.item(item["rep"])["state"] == "Original"
    done = archive.api(
        "POST", f"{path}/deletion", {"reason": "Twice", "replaced_by": other["ibip"]}
    ).json()
    assert done["state"] == "Deleted"
    assert done["tombstone"]["who"] == "first"
    assert done["tombstone"]["reason"] == "Twice"
    assert done["tombstone"]["replaced_by"]["rep"] == other["rep"]
    assert not (archive.data / "col" / item["rep"] / "doc" / "a.txt").exists()
    before = archive.snapshot()
    refused(archive.api("POST", f"{path}/deletion", {"reason": "x"}), 410, "deleted")
    refused(archive.api("PATCH", path, {"language": "pt"}), 410, "deleted")
    refused(archive.api("PUT", f"{path}/metadata", {"titles": ["x"]}), 410, "deleted")
    refused(archive.api("POST", "deposits", {"item": item["rep"]}), 410, "deleted")
    again = {"metadata": {"titles": ["x"]}, "further_names": [item["rep"]]}
    refused(archive.api("POST", "deposits", again), 409, "state")
    assert archive.snapshot() == before


def test_unknown_items_are_unknown(archive: ArchiveServer) -> None:
    for method, ending, body in (
        ("GET", "", None),
        ("GET", "/files", None),
        ("GET", "/metadata", None),
        ("PATCH", "", {"language": "pt"}),
        ("PUT", "/metadata", {"titles": ["x"]}),
        ("POST", "/deletion", {"reason": "x"}),
    ):
        refused(archive.api(method, f"items/{UNKNOWN}{ending}", body), 404, "unknown")
        refused(archive.api(method, f"items/no-label{ending}", body), 400)
        refused(archive.api(method, f"items/%00{ending}", body), 400)


def test_a_wrong_method_is_told_the_right_ones(archive: ArchiveServer) -> None:
    for method, path, allowed in (
        ("DELETE", "items", {"GET", "HEAD"}),
        ("DELETE", f"items/{UNKNOWN}", {"GET", "HEAD", "PATCH"}),
        ("PUT", f"items/{UNKNOWN}", {"GET", "HEAD", "PATCH"}),
        ("POST", f"items/{UNKNOWN}/files", {"GET", "HEAD"}),
        ("DELETE", f"items/{UNKNOWN}/metadata", {"GET", "HEAD", "PUT"}),
        ("GET", f"items/{UNKNOWN}/deletion", {"POST"}),
        ("GET", "deposits", {"POST"}),
        ("PATCH", "tokens", {"GET", "HEAD", "POST"}),
        ("GET", "tokens/x", {"DELETE"}),
        ("POST", "history", {"GET", "HEAD"}),
    ):
        answer = archive.api(method, path)
        refused(answer, 405)
        assert set(re.split(", *", answer.headers["allow"])) == allowed, path


def test_items_are_listed_page_by_page(archive: ArchiveServer) -> None:
    for _ in range(3):
        archive.deposit({"a.txt": b"a"})
    seen: list[str] = []
    after = "0"
    while after:
        page = archive.api("GET", f"items?kind=data&limit=2&after={after}").json()
        seen += [item["rep"] for item in page["items"]]
        after = page["after"]
    assert len(seen) == len(set(seen)) >= archive.api("GET", "archive").json()["items"] > 0
    for query in ("limit=0", "limit=1001", "limit=x", "after=-1", "after=x", "kind=tea", "limit="):
        refused(archive.api("GET", f"items?{query}"), 400, "bad-request")


def test_what_no_database_takes_is_no_failure_of_it(archive: ArchiveServer) -> None:
    item = archive.deposit({"a.txt": b"a"})
    for path in (
        "deposits/%00",
        "deposits/%FF/files/x",
        "deposits/%00/files/x",
        f"items/{item['rep']}/files?after=%00",
        "reservations?after=%00",
        "history?item=%00",
        "statistics?item=%00",
        "items?kind=%00",
    ):
        assert archive.api("GET", path).status in {200, 400, 404}, path
    assert archive.api("DELETE", "tokens/%00").status in {400, 404}
    assert archive.api("DELETE", "deposits/%00").status in {400, 404}
    assert archive.api("POST", "deposits/%00/completion").status in {400, 404}
    note = archive.api("POST", "reservations", {"note": "a\x00b"})
    refused(note, 400, "bad-request")


# Reservations


def test_reserved_labels_wait_for_their_items(archive: ArchiveServer) -> None:
    made = archive.api("POST", "reservations", {"count": 3, "note": "Anais 2027"})
    assert made.status == 201
    labels = made.json()["labels"]
    assert len({label["rep"] for label in labels}) == 3
    waiting = archive.api("GET", "reservations").json()["labels"]
    assert [each for each in waiting if each["note"] == "Anais 2027"] == sorted(
        labels, key=lambda label: str(label["rep"])
    )
    assert archive.get(f"/{labels[0]['ibip']}").status == 404
    item = archive.deposit({"a.txt": b"a"}, label=labels[0]["ibip"])
    assert (item["rep"], item["ibip"]) == (labels[0]["rep"], labels[0]["ibip"])
    assert labels[0] not in archive.api("GET", "reservations").json()["labels"]
    again = {"metadata": {"titles": ["x"]}, "label": labels[0]["rep"]}
    assert archive.api("POST", "deposits", again).status in {404, 409}
    taken = {"metadata": {"titles": ["x"]}, "further_names": [labels[1]["rep"]]}
    opened = archive.api("POST", "deposits", taken)
    if opened.status == 201:
        opened = archive.api("POST", f"deposits/{opened.json()['id']}/completion")
    refused(opened, 409, "state")
    page = archive.api("GET", "reservations?limit=1").json()
    assert len(page["labels"]) == 1
    assert page["after"]
    for body in ({"count": 0}, {"count": 1001}, {"count": "1"}, {"note": "x" * 2001}, {"x": 1}):
        refused(archive.api("POST", "reservations", body), 400)
    assert archive.api("POST", "reservations").status == 201


def test_a_reservation_is_taken_once(archive: ArchiveServer) -> None:
    [label] = archive.api("POST", "reservations").json()["labels"]
    first, second = (archive.open_deposit(label=label["rep"]) for _ in range(2))
    archive.complete(first)
    assert archive.api("POST", f"deposits/{second}/completion").status in {404, 409}


# History


def test_history_says_who_did_what_and_only_grows(archive: ArchiveServer) -> None:
    before = archive.api("GET", "history?limit=1000").json()["history"]
    assert before[0]["act"] == "found"
    name = f"library-{len(before)}"
    token = archive.add_token(name, "deposit")
    opened = archive.api("POST", "deposits", {"metadata": {"titles": ["x"]}}, token=token)
    path = f"deposits/{opened.json()['id']}"
    archive.api("PUT", f"{path}/files/a.txt", b"a", token=token)
    item = archive.api("POST", f"{path}/completion", token=token).json()
    archive.api("PATCH", f"items/{item['rep']}", {"language": "pt"}, token=token)
    archive.api("PUT", f"items/{item['rep']}/metadata", {"titles": ["y"]}, token=token)
    archive.api("POST", f"items/{item['rep']}/deletion", {"reason": "Test"})
    after = archive.api("GET", "history?limit=1000").json()["history"]
    assert after[: len(before)] == before
    numbers = [line["number"] for line in after]
    assert numbers == sorted(set(numbers))
    lines = archive.api("GET", f"history?item={item['ibip']}").json()["history"]
    assert [(line["act"], line["who"]) for line in lines] == [
        ("deposit", name),
        ("describe", name),
        ("describe", name),
        ("delete", "first"),
    ]
    assert lines[-1]["detail"]["reason"] == "Test"
    assert {line["label"] for line in lines} == {item["rep"]}
    first = archive.api("GET", "history?limit=1").json()
    assert [line["number"] for line in first["history"]] == [numbers[0]]
    assert first["after"] == str(numbers[0])
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        refused(archive.api(method, "history", {}), 405)
    refused(archive.api("GET", f"history?item={UNKNOWN}"), 404, "unknown")


def test_history_knows_of_what_touches_no_item(archive: ArchiveServer) -> None:
    before = len(archive.api("GET", "history?limit=1000").json()["history"])
    name = f"somebody-{before}"
    archive.add_token(name, "read")
    archive.api("DELETE", f"tokens/{name}")
    labels = archive.api("POST", "reservations", {"count": 2}).json()["labels"]
    with ResolverDouble() as resolver:
        archive.api("POST", "resolvers", {"resolver": resolver.address})
        archive.api("DELETE", f"resolvers/{quote(resolver.address, safe='')}")
        wait_until(lambda: _state(archive, resolver) is None)
    lines = archive.api("GET", "history?limit=1000").json()["history"][before:]
    assert [(line["act"], line["who"], line["label"]) for line in lines] == [
        (act, "first", "") for act in ("add token", "remove token", "reserve", "link", "unlink")
    ]
    assert lines[0]["detail"] == {"name": name, "scope": "read"}
    assert lines[2]["detail"]["labels"] == [
        f"rep {label['rep']} ibip {label['ibip']}" for label in labels
    ]
    assert lines[3]["detail"] == {"resolver": resolver.address}


# Resolvers


def test_an_archive_is_linked_to_a_resolver_and_leaves_it(archive: ArchiveServer) -> None:
    with ResolverDouble() as resolver:
        made = archive.api("POST", "resolvers", {"resolver": f"{resolver.address}/"})
        assert made.status == 201
        facts = made.json()
        assert facts["service_ibi"] == archive.service
        assert re.fullmatch("[0-9]{39}", facts["registration_key"])
        resolver.registrations[archive.service] = facts["registration_key"]
        # Linked again, because the operator registered it meanwhile: at once, with the same key.
        again = archive.api("POST", "resolvers", {"resolver": resolver.address})
        assert again.json()["registration_key"] == facts["registration_key"]
        wait_until(lambda: _state(archive, resolver) == "included")
        assert resolver.included == {archive.service: urlsplit(archive.address).netloc}
        shown = archive.api("GET", "resolvers")
        assert facts["registration_key"] not in shown.body.decode()
        item = archive.deposit({"a.txt": b"a"})
        assert item["persistent_url"] == f"{resolver.address}/{item['ibip']}"
        page = archive.get(f"/col/{item['metadata']['rep']}/doc/metadata", Accept="text/html")
        assert f'<{item["persistent_url"]}>; rel="cite-as"' in page.headers["link"]
        assert f'href="{item["persistent_url"]}"' in page.body.decode()
        left = archive.api("DELETE", f"resolvers/{quote(resolver.address, safe='')}")
        assert left.status == 204
        wait_until(lambda: _state(archive, resolver) is None)
        assert resolver.included == {}
        unknown = archive.api("DELETE", f"resolvers/{quote(resolver.address, safe='')}")
        refused(unknown, 404, "unknown")
        assert facts["registration_key"] not in archive.log()
    for body in (
        {},
        {"resolver": "ftp://x"},
        {"resolver": "http://u@x/"},
        {"resolver": "http://x/path"},
        {"resolver": "http://x", "key": "1"},
        {"resolver": "http://x", "service": "nothing"},
    ):
        before = archive.snapshot()
        refused(archive.api("POST", "resolvers", body), 400)
        assert archive.snapshot() == before
    refused(archive.api("DELETE", "resolvers/nothing"), 400)


def _state(archive: ArchiveServer, resolver: ResolverDouble) -> str | None:
    links = archive.api("GET", "resolvers").json()["links"]
    return next((each["state"] for each in links if each["resolver"] == resolver.address), None)


# Tokens


def test_tokens_are_shown_once_and_removed(archive: ArchiveServer) -> None:
    secret = archive.add_token("once", "read")
    listed = archive.api("GET", "tokens")
    assert secret not in listed.body.decode()
    assert {"name": "once", "scope": "read"}.items() <= next(
        each for each in listed.json()["tokens"] if each["name"] == "once"
    ).items()
    assert archive.api("GET", "items", token=secret).status == 200
    refused(archive.api("POST", "tokens", {"name": "once", "scope": "read"}), 400, "bad-request")
    assert archive.api("DELETE", "tokens/once").status == 204
    refused(archive.api("GET", "items", token=secret), 401, "token-needed")
    refused(archive.api("DELETE", "tokens/once"), 404, "unknown")
    for body in (
        {"name": "", "scope": "read"},
        {"name": "x"},
        {"name": "x", "scope": "all"},
        {"name": "a b", "scope": "read"},
        {"name": "x\n", "scope": "read"},
    ):
        refused(archive.api("POST", "tokens", body), 400)
    assert secret not in archive.log()
    for path in archive.data.glob("*sqlite*"):
        assert secret.encode() not in path.read_bytes()


ROUTES = [
    ("read", "GET", "items?words=a", None),
    ("read", "GET", "items/{rep}", None),
    ("read", "GET", "items/{rep}/files", None),
    ("read", "GET", "items/{rep}/metadata", None),
    ("read", "GET", "reservations", None),
    ("read", "GET", "history", None),
    ("read", "GET", "history/acts", None),
    ("read", "GET", "statistics", None),
    ("read", "GET", "statistics/items", None),
    ("read", "GET", "statistics/holdings", None),
    ("read", "GET", "tasks", None),
    ("read", "GET", "resolvers", None),
    ("deposit", "POST", "deposits", {"metadata": {"titles": ["x"]}}),
    ("deposit", "GET", "deposits/{id}", None),
    ("deposit", "PUT", "deposits/{id}/files/a.zip", zipped(x=b"y")),
    ("deposit", "GET", "deposits/{id}/files/a.zip", None),
    ("deposit", "POST", "deposits/{id}/unpacking", {"path": "a.zip"}),
    ("deposit", "PUT", "deposits/{id}/files/b.txt", b"b"),
    ("deposit", "DELETE", "deposits/{id}/files/b.txt", None),
    ("deposit", "POST", "deposits/{id}/completion", None),
    ("deposit", "DELETE", "deposits/{id2}", None),
    ("deposit", "PATCH", "items/{rep}", {"language": "pt"}),
    ("deposit", "PUT", "items/{rep}/metadata", {"titles": ["x"]}),
    ("deposit", "POST", "reservations", {"count": 1}),
    (
        "administer",
        "POST",
        "deposits",
        {"metadata": {"titles": ["x"]}, "further_names": ["{name}"]},
    ),
    ("administer", "PATCH", "items/{rep}", {"further_names": ["{name}"]}),
    ("administer", "POST", "items/{rep}/deletion", {"reason": "x"}),
    ("administer", "POST", "resolvers", {"resolver": "http://127.0.0.1:1"}),
    ("administer", "DELETE", "resolvers/http%3A%2F%2F127.0.0.1%3A1", None),
    ("administer", "GET", "tokens", None),
    ("administer", "POST", "tokens", {"name": "new", "scope": "read"}),
    ("administer", "DELETE", "tokens/new", None),
]


def _steady(archive: ArchiveServer) -> list[object]:
    """Return what the archive has, but for how its resolvers answer, which changes by itself."""
    found = archive.snapshot()
    return [
        [link["resolver"] for link in each["links"]]
        if isinstance(each, dict) and "links" in each
        else each
        for each in found
    ]


def test_every_route_wants_its_scope_and_no_less(archive: ArchiveServer) -> None:
    tokens = {scope: archive.add_token(f"scope-{scope}", scope) for scope in SCOPES}
    item = archive.deposit({"a.txt": b"a"})
    year = "2003" if "sqlite" in str(archive.folder) else "2004"
    names = {
        "rep": item["rep"],
        "id": archive.open_deposit(),
        "id2": archive.open_deposit(),
        "name": f"dpi.inpe.br/scope/{year}/01.01.01.01",
    }
    for scope, method, given, body in ROUTES:
        path = given.format(**names)
        sent = _filled(body, {"{name}": names["name"]})
        before = _steady(archive) if method != "GET" else ()
        answer = archive.api(method, path, sent, token="")
        refused(answer, 401, "token-needed")
        assert answer.headers["www-authenticate"].startswith("Bearer")
        for lower in SCOPES[: SCOPES.index(scope)]:
            refused(archive.api(method, path, sent, token=tokens[lower]), 403, "scope-needed")
        assert method == "GET" or _steady(archive) == before, path
        answer = archive.api(method, path, sent, token=tokens[scope])
        assert answer.status < 300, (path, answer.body)


def test_other_ways_to_send_a_token_are_none(archive: ArchiveServer) -> None:
    for headers in (
        {"Authorization": f"Basic {archive.token}"},
        {"Authorization": archive.token},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer ibi_\xe9"},
        {"Cookie": f"token={archive.token}"},
    ):
        assert archive.ask("GET", f"{API}/history", token="", headers=headers).status == 401
    assert archive.api("GET", f"history?token={archive.token}", token="").status == 401
    lower = {"Authorization": f"bearer {archive.token}"}
    assert archive.ask("GET", f"{API}/history", token="", headers=lower).status == 200


def test_the_archive_tells_what_it_is(archive: ArchiveServer) -> None:
    about = archive.api("GET", "archive", token="").json()
    assert about["name"] == "Arquivo de prova"
    assert about["address"] == archive.address
    assert about["service"]["rep"] == archive.service
    assert about["formats"] == ["oai_dc", "bibtex", "ris", "csl", "erc"]
    assert archive.get("/healthz").body == b"alive\n"
    assert archive.get("/readyz").body == b"ready\n"
    assert b"ibi_archive_requests_total" in archive.get("/metrics").body


def test_who_asks_too_much_is_told_when_to_come_again(tmp_path: Path) -> None:
    with ArchiveServer(tmp_path, rate=1) as archive:
        assert [archive.api("GET", "items").status for _ in range(5)] == [200] * 5
        # A machine that stalls for a second allows one more.
        answers = (archive.api("GET", "items") for _ in range(1000))
        limited = next(answer for answer in answers if answer.status != 200)
        refused(limited, 429, "too-many", "try again")
        assert int(limited.headers["retry-after"]) >= 1
        # Whoever reads is not who deposits.
        assert archive.get("/").status == 200
        assert archive.api("GET", "items", token=archive.local_token).status == 200


def test_guessing_tokens_is_soon_slowed_down(tmp_path: Path) -> None:
    with ArchiveServer(tmp_path) as archive:
        guesses = (archive.api("GET", "items", token=f"ibi_{n}").status for n in range(1000))
        assert [next(guesses) for _ in range(60)] == [401] * 60
        assert next(status for status in guesses if status != 401) == 429
        # Who has a token is not kept out by who has none, though both come by one proxy.
        assert archive.api("GET", "items").status == 200
        assert "ibi_60" not in archive.log()


def test_somebody_can_always_administer(tmp_path: Path) -> None:
    with ArchiveServer(tmp_path) as archive:
        assert archive.api("DELETE", "tokens/local").status == 204
        refused(archive.api("DELETE", "tokens/first"), 409, "state", "last token")
        archive.add_token("another", "administer")
        assert archive.api("DELETE", "tokens/first").status == 204
        refused(archive.api("GET", "items"), 401, "token-needed")


def test_files_of_an_archive_are_for_its_owner(tmp_path: Path) -> None:
    archive = ArchiveServer(tmp_path)
    assert archive.data.stat().st_mode & 0o777 == 0o700
    for name in ("archive.toml", "token"):
        assert (archive.data / name).stat().st_mode & 0o077 == 0
    assert archive.local_token != archive.token
    assert archive.token.encode() not in b"".join(files_in(archive.data).values())
