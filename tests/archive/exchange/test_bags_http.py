"""Bags between two real archives: export, import, and the hand-over of Originals."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import msgspec
import pytest

from ibi.archive.cli import export
from ibi.archive.storage.bags.writer import BagWriter
from ibi.client.archive import RemoteArchive
from tests.support.servers.archive import ArchiveServer, files_in
from tests.support.values.bags import is_bag, judge, write_many

LARGE = bytes(range(256)) * 1000
FILES = {"index.html": b"<p>hello</p>", "data/ü +&b.bin": LARGE, "empty": b""}


@pytest.fixture(scope="module")
def giver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArchiveServer]:
    with ArchiveServer(tmp_path_factory.mktemp("giver")) as started:
        yield started


@pytest.fixture(scope="module")
def taker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArchiveServer]:
    made = ArchiveServer(
        tmp_path_factory.mktemp("taker"), host="taker.example.org", ip="150.163.34.250"
    )
    made.set(allowed_networks=["127.0.0.0/8"])
    with made as started:
        yield started


def done(archive: ArchiveServer, command: str, *arguments: str) -> str:
    """Run a command that succeeds; return what it says."""
    ended = archive.ibi(command, *arguments)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


def refused(archive: ArchiveServer, command: str, *arguments: str) -> str:
    """Run a command that does not; return why."""
    ended = archive.ibi(command, *arguments)
    assert ended.returncode == 1, ended.stdout
    return ended.stderr.strip()


def stored(archive: ArchiveServer, label: str) -> dict[str, bytes]:
    return files_in(archive.data / "col" / label / "doc")


def test_items_go_from_one_archive_to_another(
    giver: ArchiveServer, taker: ArchiveServer, tmp_path: Path
) -> None:
    item = giver.deposit(FILES, list_public=False, language="pt", target="index.html")
    bare = giver.deposit()
    deleted = giver.deposit({"a": b"a"})["rep"]
    giver.api("POST", f"items/{deleted}/deletion", {"reason": "twice"})
    folder = tmp_path / "bag"
    facts = json.loads(done(giver, "export", "--all", str(folder), "--json"))
    assert facts["items"] >= 2
    info = judge(folder)
    assert info["Source-Organization"] == "Arquivo de prova"
    assert info["Contact-Email"] == "admin@example.org"
    assert info["Payload-Oxum"] == f"{facts['bytes']}.{facts['files']}"
    assert "External-Identifier" not in info
    text = (folder / "data/col" / item["rep"] / "ibi.json").read_text()
    assert f'"origin": "{giver.address}"' in text
    assert "/".join(deleted.split("/")[1:]) not in {p.name for p in folder.rglob("*")}

    counts = json.loads(done(taker, "import", str(folder), "--json"))
    assert counts == {
        "imported": facts["items"], "updated": 0, "here": 0, "refused": 0, "refusals": [],
    }  # fmt: skip
    for label in (item["rep"], bare["rep"]):
        there = taker.item(label)
        assert there["state"] == "Copy"
        assert there["ibip"] == giver.item(label)["ibip"]
        assert there["record"] == giver.item(label)["record"]
    assert stored(taker, item["rep"]) == FILES
    assert taker.get(f"/{item['ibip']}").status == 302
    again = json.loads(done(taker, "import", str(folder), "--json"))
    assert (again["imported"], again["here"]) == (0, facts["items"])


def test_a_copy_is_brought_up_to_date_by_a_later_bag(
    giver: ArchiveServer, taker: ArchiveServer, tmp_path: Path
) -> None:
    label = giver.deposit({"a.txt": b"1", "b.txt": b"2"}, target="a.txt")["rep"]
    done(giver, "export", label, str(tmp_path / "first"))
    done(taker, "import", str(tmp_path / "first"))
    (tmp_path / "a.txt").write_bytes(LARGE)
    done(giver, "revise", label, str(tmp_path / "a.txt"), "--remove", "b.txt")
    done(giver, "export", label, str(tmp_path / "second"))
    assert done(taker, "import", str(tmp_path / "second")) == (
        "imported 0, updated 1, here 0, refused 0"
    )
    assert stored(taker, label) == {"a.txt": LARGE}
    assert "here 1" in done(taker, "import", str(tmp_path / "first"))
    assert stored(taker, label) == {"a.txt": LARGE}


def test_what_is_the_original_here_is_refused_and_the_others_come(
    giver: ArchiveServer, taker: ArchiveServer, tmp_path: Path
) -> None:
    labels = [giver.deposit({"a": b"%d" % number})["rep"] for number in range(2)]
    done(giver, "export", *labels, str(tmp_path / "bag"))
    assert judge(tmp_path / "bag")["External-Identifier"] == labels
    before = giver.snapshot()
    lines = refused(giver, "import", str(tmp_path / "bag")).splitlines()
    assert len(lines) == 2
    assert all("is the Original in this archive" in line for line in lines)
    assert giver.snapshot() == before
    done(taker, "import", str(tmp_path / "bag"))


def test_a_limited_item_is_exported_by_who_has_a_token(
    giver: ArchiveServer, taker: ArchiveServer, tmp_path: Path
) -> None:
    label = giver.deposit({"secret.txt": b"for some"}, readers=["10.0.0.0/8"])["rep"]
    assert giver.get(f"/col/{label}/doc/secret.txt").status == 403
    done(giver, "export", label, str(tmp_path / "bag"))
    done(taker, "import", str(tmp_path / "bag"))
    assert stored(taker, label) == {"secret.txt": b"for some"}
    assert taker.get(f"/col/{label}/doc/secret.txt").status == 403  # its readers came too


def test_an_interrupted_export_is_gone_on_with(giver: ArchiveServer, tmp_path: Path) -> None:
    label = giver.deposit(FILES, target="index.html")["rep"]
    folder = tmp_path / "bag"
    done(giver, "export", label, str(folder))
    whole = files_in(folder)
    # As it lies there when the power fails before the end.
    purpose = {"archive": giver.address, "items": [label], "hand_over_to": ""}
    (folder / "export.json").write_bytes(msgspec.json.encode(purpose))
    (folder / "bagit.txt").unlink()
    large = folder / "data/col" / label / "doc/data/ü +&b.bin"
    large.write_bytes(LARGE[:100_000])
    assert not is_bag(folder)
    assert "there is no bagit.txt" in refused(giver, "import", str(folder))
    other = giver.deposit({"a": b"a"})["rep"]
    assert "another export" in refused(giver, "export", other, str(folder))
    logged = len(giver.log())
    done(giver, "export", label, str(folder))
    asked = re.findall(r"/doc/\S+", giver.log()[logged:])
    assert len(asked) == 1  # only what was not there
    judge(folder)
    assert files_in(folder) == whole
    assert "not empty" in refused(giver, "export", label, str(folder))


def test_many_small_items_come_by_few_requests(taker: ArchiveServer, tmp_path: Path) -> None:
    labels = write_many(tmp_path / "bag", 120)
    judge(tmp_path / "bag")
    logged = len(taker.log())
    assert "imported 120" in done(taker, "import", str(tmp_path / "bag"))
    assert taker.item(labels[-1])["state"] == "Copy"
    lines = [line for line in taker.log()[logged:].splitlines() if "/api/v1/" in line]
    assert 4 <= len(lines) <= 6


def test_a_hostile_bag_changes_nothing(
    giver: ArchiveServer, taker: ArchiveServer, tmp_path: Path
) -> None:
    label = giver.deposit({"a.txt": b"a", "b.txt": b"b"}, target="a.txt")["rep"]
    done(giver, "export", label, str(tmp_path / "bag"))
    (tmp_path / "bag/data/col" / label / "doc/b.txt").write_bytes(b"c")
    before = taker.snapshot()
    assert refused(taker, "import", str(tmp_path / "bag")).count("\n") == 0
    assert taker.snapshot() == before
    # Nor does who passes the verification over, and speaks to the archive.
    text = json.loads((tmp_path / "bag/data/col" / label / "ibi.json").read_text())
    metadata = text["metadata"].split()[1]
    described = json.loads((tmp_path / "bag/data/col" / metadata / "ibi.json").read_text())
    body = {"items": [{"label": label, "item": text, "metadata": described}]}
    [opened] = taker.api("POST", "imports", body).json()["items"]
    assert opened["outcome"] == "open"
    files = {"a.txt": "YQ==", "b.txt": "Yw=="}
    ended = taker.api(
        "POST", "imports/completion", {"imports": [{"id": opened["id"], "files": files}]}
    )
    [answer] = ended.json()["items"]
    assert (answer["outcome"], "is not as its manifest says" in answer["detail"]) == (
        "refused",
        True,
    )
    assert taker.api("GET", f"items/{label}").status == 404
    completion = taker.api("POST", f"deposits/{opened['id']}/completion")
    assert completion.status == 409
    taker.api("DELETE", f"deposits/{opened['id']}")
    assert taker.snapshot() == before


def test_who_may_what(giver: ArchiveServer) -> None:
    tokens = {scope: giver.add_token(f"bag-{scope}", scope) for scope in ("read", "deposit")}
    assert giver.api("GET", "manifests", token=tokens["read"]).status == 200
    for token in tokens.values():
        for path in ("imports", "imports/completion", "hand-overs", "hand-overs/check"):
            assert giver.api("POST", path, {}, token=token).status == 403
        assert giver.api("GET", "keys?address=http://example.org", token=token).status == 403


def test_manifests_are_told_page_by_page(giver: ArchiveServer) -> None:
    labels = {giver.deposit({"a": b"a"})["rep"] for _ in range(3)}
    found, after = [], "0"
    while after:
        page = giver.api("GET", f"manifests?limit=2&after={after}").json()
        found += [entry["label"] for entry in page["items"]]
        after = page["after"]
    assert labels <= set(found)
    assert len(found) == len(set(found))
    assert giver.api("GET", f"manifests?item={quote(giver.service)}").status == 400
    assert giver.api("GET", "manifests?item=x").status == 400


# --- hand-overs -----------------------------------------------------------------------------------


def test_the_key_is_public_and_stays(giver: ArchiveServer) -> None:
    key = done(giver, "key")
    assert re.fullmatch("[0-9a-f]{64}", key)
    assert giver.get("/api/v1/archive").json()["key"] == key
    giver.restart()
    assert json.loads(done(giver, "key", "--json")) == {"address": giver.address, "key": key}


def test_an_original_is_handed_over_to_the_named_archive_alone(
    giver: ArchiveServer, taker: ArchiveServer, tmp_path: Path
) -> None:
    label = giver.deposit(FILES, target="index.html")["rep"]
    folder = tmp_path / "bag"
    done(giver, "export", label, str(folder), "--hand-over-to", taker.service, "--yes")
    judge(folder)
    assert "hand-over.json" in (folder / "tagmanifest-sha256.txt").read_text()
    assert giver.item(label)["state"] == "Copy"
    assert done(
        giver, "export", label, str(tmp_path / "again"), "--hand-over-to", taker.service, "--yes"
    )
    paper = (folder / "hand-over.json").read_bytes()
    assert (tmp_path / "again/hand-over.json").read_bytes() == paper

    key, wrong = done(giver, "key"), done(taker, "key")
    assert "by the key that you named" in refused(
        taker, "import", str(folder), "--signed-by", wrong
    )
    assert taker.api("GET", f"items/{label}").status == 404
    without = taker.ibi("import", str(folder))
    assert (without.returncode, taker.item(label)["state"]) == (0, "Copy")
    assert "without --signed-by they come as Copies" in without.stderr
    assert "updated 1" in done(taker, "import", str(folder), "--signed-by", key)
    assert taker.item(label)["state"] == "Original"
    assert "here 1" in done(taker, "import", str(folder), "--signed-by", key)
    assert "not this archive" in refused(giver, "import", str(folder), "--signed-by", key)
    assert giver.item(label)["state"] == "Copy"


def test_what_is_deposited_while_all_is_handed_over_stays(
    taker: ArchiveServer, tmp_path: Path
) -> None:
    with ArchiveServer(tmp_path / "made") as giver:
        label = giver.deposit({"a": b"1"})["rep"]
        archive = RemoteArchive(giver.address, giver.token)
        writer = BagWriter(tmp_path / "bag", "all")
        with closing(writer):
            export._write(archive, writer, [], lambda *_: None)  # noqa: SLF001  # what comes in between
            later = giver.deposit({"b": b"2"})["rep"]
            paper = export._hand_over(archive, writer, [], taker.service)  # noqa: SLF001
        assert [item["label"] for item in json.loads(paper)["items"]] == [label]
        assert (giver.item(label)["state"], giver.item(later)["state"]) == ("Copy", "Original")


def test_the_key_of_a_trusted_address(
    giver: ArchiveServer, taker: ArchiveServer, tmp_path: Path
) -> None:
    label = giver.deposit({"a": b"a"})["rep"]
    folder = tmp_path / "bag"
    done(giver, "export", label, str(folder), "--hand-over-to", taker.service, "--yes")
    reason = refused(taker, "import", str(folder), "--trust-address", "http://evil.example.org")
    assert "The bag is by the archive at" in reason
    done(taker, "import", str(folder), "--trust-address", giver.address)
    assert taker.item(label)["state"] == "Original"
    # Where the guard lets nobody through, nobody is asked.
    refusal = giver.api("GET", f"keys?address={taker.address}")
    assert (refusal.status, "allowed_networks" in refusal.json()["detail"]) == (400, True)
    assert giver.api("GET", "keys?address=file:///etc/passwd").status == 400


def test_what_cannot_be_handed_over_is_said_before_anything_is_written(
    giver: ArchiveServer, taker: ArchiveServer, tmp_path: Path
) -> None:
    good = giver.deposit({"a": b"a"})["rep"]
    gone = giver.deposit({"a": b"a"})["rep"]
    done(giver, "export", gone, str(tmp_path / "bag"), "--hand-over-to", taker.service, "--yes")
    other = "QABCDSTQQW/3F2GCL8"
    reason = refused(
        giver, "export", good, gone, str(tmp_path / "x"), "--hand-over-to", other, "--yes"
    )
    assert "is a Copy here" in reason
    assert not (tmp_path / "x").exists()
    assert giver.item(good)["state"] == "Original"


def test_what_is_not_transferable_is_exported_and_not_handed_over(
    giver: ArchiveServer, taker: ArchiveServer, tmp_path: Path
) -> None:
    good = giver.deposit({"a": b"a"})["rep"]
    software = "LK47B6W/362SFKH"
    fixed = giver.deposit({"a": b"a"}, transferable=False, platform_software=software)["rep"]
    for named in ((good, fixed), ("--all",)):
        bag = tmp_path / "x"
        reason = refused(
            giver, "export", *named, str(bag), "--hand-over-to", taker.service, "--yes"
        )
        assert f"{fixed} is marked as not transferable" in reason
        assert not bag.exists()
    assert [giver.item(each)["state"] for each in (good, fixed)] == ["Original", "Original"]
    done(giver, "export", fixed, str(tmp_path / "bag"))
    done(taker, "import", str(tmp_path / "bag"))
    brought = taker.item(fixed)
    assert (brought["state"], brought["transferable"]) == ("Copy", False)
    assert brought["platform_software"] == {"ibip": software}
    done(giver, "describe", fixed, "--transferable")  # other tests hand everything over


@pytest.mark.parametrize(
    "arguments", [("bag",), ("--all", "x", "bag"), ()], ids=["no items", "both", "nothing"]
)
def test_a_command_that_makes_no_sense(giver: ArchiveServer, arguments: tuple[str, ...]) -> None:
    assert giver.ibi("export", *arguments).returncode == 2
