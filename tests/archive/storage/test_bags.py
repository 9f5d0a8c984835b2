"""Bags on a disk: what is written is valid for others too, and what is read is believed late."""

from __future__ import annotations

import os
import re
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from hashlib import new
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ibi.archive.rules import bagit
from ibi.archive.rules.file_path import FilePaths, check_path
from ibi.archive.storage.bags.reader import BagFolder
from ibi.archive.storage.bags.writer import MARKER, BagWriter
from ibi.errors import ArchiveRequestError, BagError, ChecksumError, FileNameError, IbiError
from tests.support.scenes.small_archive import SmallArchive, file, tree
from tests.support.values.bags import (
    is_bag,
    judge,
    make_again,
    make_foreign_bag,
    put_item,
    write_bag,
)

FILES = {"index.html": b"<p>hello</p>", "data/ü a.csv": b"a,b\n" * 1000, "empty": b""}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallArchive]:
    made = SmallArchive(tmp_path_factory.mktemp("small"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def labels(small: SmallArchive) -> list[str]:
    return [small.label(FILES), small.label({"b.txt": b"b"}), small.label({})]


@pytest.fixture(scope="module")
def good(small: SmallArchive, labels: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bag(tmp_path_factory.mktemp("good") / "bag", small, *labels)


@pytest.fixture
def folder(good: Path, tmp_path: Path) -> Path:
    """A good bag of one's own, to be spoilt."""
    return Path(shutil.copytree(good, tmp_path / "bag"))


def verified(folder: Path) -> list[str]:
    with closing(BagFolder(folder)) as found:
        found.verify(lambda _: None)
        return found.places


def test_a_bag_is_valid_for_others_and_comes_back(good: Path, labels: list[str]) -> None:
    info = judge(good)
    assert verified(good) == sorted(labels)
    with closing(BagFolder(good)) as found:
        advanced: list[int] = []
        found.verify(advanced.append)
        assert sum(advanced) == found.size()
    assert info["Source-Organization"] == "Arquivo de prova"


def is_path(text: str) -> bool:
    with suppress(FileNameError):
        # bagit.py takes these for the end of a line, whatever the version.
        return check_path(text) == text and not re.search("%0[AaDd]", text)
    return False


paths = st.text(max_size=20).filter(is_path)


@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(st.dictionaries(paths, st.binary(max_size=20), min_size=1, max_size=5))
def test_whatever_names_the_files_have(
    small: SmallArchive,
    tmp_path_factory: pytest.TempPathFactory,
    files: dict[str, bytes],
) -> None:
    taken = FilePaths()
    wanted = {}
    for path, content in files.items():
        if taken.clash(path) is None:
            taken.add(path)
            wanted[path] = content
    label = small.label(wanted, target=next(iter(wanted)))
    folder = write_bag(tmp_path_factory.mktemp("bag") / "bag", small, label)
    judge(folder)
    assert verified(folder) == [label]


def test_a_bag_with_a_percent_sign_in_a_name_is_of_the_version_that_encodes_none(
    small: SmallArchive, tmp_path: Path
) -> None:
    label = small.label({"100%.txt": b"all", "a%25b": b"as it is"}, target="a%25b")
    folder = write_bag(tmp_path / "bag", small, label)
    assert (folder / "bagit.txt").read_text().startswith("BagIt-Version: 0.97\n")
    judge(folder)
    assert verified(folder) == [label]


def test_a_percent_sign_is_read_as_the_standard_says(small: SmallArchive, tmp_path: Path) -> None:
    """RFC 8493, 2.1.3; bagit.py reads it otherwise, so it is no judge here."""
    label = small.label({"100%.txt": b"all"})
    folder = write_bag(tmp_path / "bag", small, label)
    (folder / "bagit.txt").write_text(bagit.declaration())
    for name in bagit.ALGORITHMS:
        path = folder / bagit.manifest_file(name)
        path.write_text(path.read_text().replace("100%.txt", "100%25.txt"))
    for name in bagit.ALGORITHMS:
        (folder / bagit.manifest_file(name, tags=True)).write_text(_sums(folder, name))
    assert verified(folder) == [label]


def _sums(folder: Path, algorithm: str) -> str:
    names = [bagit.DECLARATION_FILE, bagit.INFO_FILE, *map(bagit.manifest_file, bagit.ALGORITHMS)]
    sums = {name: new(algorithm, (folder / name).read_bytes()) for name in names}
    return "".join(bagit.line(found.hexdigest(), name) for name, found in sums.items())


# --- written --------------------------------------------------------------------------------------


def test_it_is_no_bag_before_its_end(
    small: SmallArchive, labels: list[str], tmp_path: Path
) -> None:
    folder = tmp_path / "bag"
    for number in range(4):
        writer = BagWriter(folder, "purpose")
        for label in labels[:number]:
            put_item(writer, small, label)
        writer.close()  # interrupted
        with pytest.raises(BagError):
            verified(folder)
        assert not is_bag(folder)
        with pytest.raises(ArchiveRequestError, match="another export"):
            BagWriter(folder, "another purpose")
    writer = BagWriter(folder, "purpose")
    for label in labels:
        put_item(writer, small, label)
    writer.finish([], {})
    judge(folder)
    assert not (folder / MARKER).exists()
    with pytest.raises(ArchiveRequestError, match="not empty"):
        BagWriter(folder, "purpose")


def test_what_is_there_is_not_fetched_again(tmp_path: Path) -> None:
    content = bytes(range(256)) * 100
    wanted = file("a", content)
    path = "data/col/x/doc/a"
    asked: list[int] = []

    def fetch(*, lie: bytes = content) -> None:
        writer = BagWriter(tmp_path / "bag", "purpose")

        def read(offset: int) -> object:
            asked.append(offset)
            return closing(_Pieces(lie[offset:]))

        try:
            writer.fetch(path, wanted, read)  # type: ignore[arg-type]  # closing is a context
        finally:
            writer.close()

    target = tmp_path / "bag" / path
    fetch()
    fetch()
    assert asked == [0]
    assert target.read_bytes() == content
    for there, offset in (
        (content[:1000], 1000),
        (content + b"more", 0),
        (b"x" * len(content), 0),
        (b"", 0),
    ):
        target.write_bytes(there)
        asked.clear()
        fetch()
        assert asked == [offset]
        assert target.read_bytes() == content
    for there, lie in ((b"wrong", content), (b"", content[:-1]), (b"", content + b"x" * 100)):
        target.write_bytes(there)
        with pytest.raises(ChecksumError):
            fetch(lie=lie)
        assert not target.exists()


class _Pieces:
    """An iterator that can be closed."""

    def __init__(self, content: bytes) -> None:
        self._left = content

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        piece, self._left = self._left[:777], self._left[777:]
        if not piece:
            raise StopIteration
        return piece

    def close(self) -> None:
        """End."""


def test_what_was_changed_since_does_not_stay(small: SmallArchive, tmp_path: Path) -> None:
    changed = small.label({"a/b.txt": b"1", "c": b"2"}, target="c")
    gone = small.label({"x": b"x"})
    folder = tmp_path / "bag"
    writer = BagWriter(folder, "purpose")
    for label in (changed, gone):
        put_item(writer, small, label)
    writer.close()
    small.deposit({"a": b"a file now", "c": b"3"}, item=changed, remove=["a/b.txt"])
    writer = BagWriter(folder, "purpose")
    put_item(writer, small, changed)
    writer.finish([], {})
    judge(folder)
    assert verified(folder) == [changed]
    assert not (folder / bagit.ITEMS / gone).exists()


def test_a_folder_that_is_somebody_elses_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ArchiveRequestError, match="not empty"):
        BagWriter(tmp_path, "purpose")
    assert tree(tmp_path) == {"mine.txt": b"mine"}


# --- hostile --------------------------------------------------------------------------------------

Spoil = Callable[[Path], object]


def rewrite_tags(folder: Path) -> None:
    """Make the tag manifests right again, and say nothing of sizes, as whoever is hostile does."""
    info = folder / "bag-info.txt"
    if info.is_file() and info.read_text() != "Payload-Oxum: 1.1\n":
        info.write_text("Source-Organization: Somebody\n")
    for algorithm in bagit.ALGORITHMS:
        path = folder / bagit.manifest_file(algorithm, tags=True)
        names = [line.split("  ")[1] for line in path.read_text().splitlines()]
        lines = [
            bagit.line(new(algorithm, (folder / name).read_bytes()).hexdigest(), name)
            for name in names
            if (folder / name).is_file()
        ]
        path.write_text("".join(lines))


def edit(folder: Path, change: Callable[[str], str], *algorithms: str) -> None:
    """Change manifests of the payload."""
    for algorithm in algorithms or bagit.ALGORITHMS:
        path = folder / bagit.manifest_file(algorithm)
        path.write_bytes(change(path.read_text()).encode())


def add(folder: Path, path: str, content: bytes = b"x") -> None:
    """Add a file as if it had been there always."""
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    list_too(folder, path, content)


def list_too(folder: Path, path: str, content: bytes = b"x") -> None:
    for algorithm in bagit.ALGORITHMS:
        line = bagit.line(new(algorithm, content).hexdigest(), path)
        edit(folder, lambda text, line=line: text + line, algorithm)  # type: ignore[misc]


def a_file(folder: Path) -> Path:
    return next(folder.rglob("index.html"))


def a_place(folder: Path) -> str:
    return a_file(folder).parent.parent.relative_to(folder).as_posix()


def relisted(folder: Path, path: Path, content: bytes) -> None:
    """Replace a file, and its checksums."""
    old = path.read_bytes()
    path.write_bytes(content)
    for algorithm in bagit.ALGORITHMS:
        before, after = (new(algorithm, each).hexdigest() for each in (old, content))
        edit(folder, lambda text, b=before, a=after: text.replace(b, a), algorithm)  # type: ignore[misc]


def manifest_of(folder: Path, change: Callable[[dict[str, object]], object]) -> None:
    """Change the manifest of an item, in all that it is listed in."""
    path = folder / a_place(folder) / bagit.MANIFEST
    document = msgspec.json.decode(path.read_bytes())
    change(document)
    relisted(folder, path, msgspec.json.encode(document))


def to_other_case(folder: Path) -> None:
    place = a_place(folder)
    add(folder, f"{place}/doc/INDEX.html")


def link_file(folder: Path) -> None:
    path = a_file(folder)
    outside = folder.parent / "outside"
    outside.write_bytes(path.read_bytes())
    path.unlink()
    path.symlink_to(outside)


def link_folder(folder: Path) -> None:
    path = a_file(folder).parent
    path.rename(folder.parent / "doc")
    path.symlink_to(folder.parent / "doc")


def link_manifest(folder: Path) -> None:
    (folder / "manifest-sha256.txt").rename(folder.parent / "m")
    (folder / "manifest-sha256.txt").symlink_to(folder.parent / "m")


def no_tag_manifest(folder: Path) -> None:
    for path in folder.glob("tagmanifest-*"):
        path.unlink()


def link_payload(folder: Path) -> None:
    (folder / "data").rename(folder.parent / "payload")
    (folder / "data").symlink_to(folder.parent / "payload")


def pipe(folder: Path) -> None:
    path = a_file(folder)
    path.unlink()
    os.mkfifo(path)


def socket_there(folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        here = Path.cwd()
        os.chdir(folder / a_place(folder))
        try:
            listener.bind("x")
        finally:
            os.chdir(here)


def no_ibi_json(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()
    (folder / "letter.txt").write_text("not of an archive")
    make_foreign_bag(folder)


def deep(folder: Path) -> None:
    (folder / "data" / "/".join(["d"] * 100)).mkdir(parents=True)


def moved(folder: Path) -> None:
    """An item at the place of another label."""
    place = a_place(folder)
    other = f"{place[:-2]}59"
    (folder / place).rename(folder / other)
    edit(folder, lambda text: text.replace(f"{place}/", f"{other}/"))


HOSTILE: dict[str, tuple[str, Spoil]] = {
    "a flipped bit": ("its checksums differ", lambda f: a_file(f).write_bytes(b"<p>hellp</p>")),
    "a file too many": (
        "in no manifest",
        lambda f: (f / a_place(f) / "doc" / "more").write_bytes(b""),
    ),
    "a file too few": ("is missing", lambda f: a_file(f).unlink()),
    "a file in one manifest only": (
        "not in both",
        lambda f: edit(f, lambda text: "\n".join(text.splitlines()[1:]) + "\n", "sha512"),
    ),
    "a line twice": (
        "listed twice",
        lambda f: edit(f, lambda text: text + text.splitlines()[0] + "\n"),
    ),
    "a line twice in the second": (
        "twice in one",
        lambda f: edit(f, lambda text: text + text.splitlines()[0] + "\n", "sha512"),
    ),
    "a path up": ("leads out", lambda f: list_too(f, "data/../../outside")),
    "a path from the root": ("leads out", lambda f: list_too(f, "/etc/hostname")),
    "a path of another system": ("leads out", lambda f: list_too(f, "data\\col\\x")),
    "a path with an encoded line end": (
        "no file of an item",
        lambda f: list_too(f, "data/col/x\ny"),
    ),
    "a name that differs in case": ("differs only in case", to_other_case),
    "a mark at the beginning": ("byte-order mark", lambda f: edit(f, lambda text: "\ufeff" + text)),
    "a comment": ("not a line", lambda f: edit(f, lambda text: "# hello\n" + text)),
    "an endless line": ("not a line", lambda f: edit(f, lambda text: text + "a" * (1 << 20))),
    "another sum": ("its checksums differ", lambda f: edit(f, lambda text: "ffff" + text[4:])),
    "no sums": ("in no manifest", lambda f: edit(f, lambda _: "")),
    "bytes that are no text": (
        "not in UTF-8",
        lambda f: (f / "manifest-sha256.txt").write_bytes(b"\xff\xfe"),
    ),
    "no manifest": (
        "there is no file 'manifest-sha512",
        lambda f: (f / "manifest-sha512.txt").unlink(),
    ),
    "no tag manifest": ("no manifest of its tag files", no_tag_manifest),
    "a tag file up": (
        "leads out",
        lambda f: (f / "tagmanifest-sha256.txt").write_text(bagit.line("0" * 64, "../outside")),
    ),
    "a link for a file": ("a link or a device", link_file),
    "a link for a folder": ("a link or a device", link_folder),
    "a link for all": ("data is not a folder", link_payload),
    "a pipe": ("a link or a device", pipe),
    "a socket": ("a link or a device", socket_there),
    "a link for a manifest": ("there is no file 'manifest-sha256", link_manifest),
    "files that are elsewhere": (
        "fetch.txt",
        lambda f: (f / "fetch.txt").write_text("http://example.org/x 1 data/x\n"),
    ),
    "another version": (
        "of version '9.0'",
        lambda f: (f / "bagit.txt").write_text(bagit.declaration().replace("1.0", "9.0")),
    ),
    "another encoding": (
        "only UTF-8",
        lambda f: (f / "bagit.txt").write_text(bagit.declaration().replace("UTF-8", "UTF-16")),
    ),
    "no declaration": ("there is no bagit.txt", lambda f: (f / "bagit.txt").unlink()),
    "another number of bytes": (
        "Payload-Oxum",
        lambda f: (f / "bag-info.txt").write_text("Payload-Oxum: 1.1\n"),
    ),
    "of another program": ("only what 'ibi archive export' made", no_ibi_json),
    "folders without end": ("deeper than", deep),
    "a file beside the items": ("no file of an item", lambda f: add(f, "data/readme.txt")),
    "a file beside the documents": ("no file of an item", lambda f: add(f, f"{a_place(f)}/old/x")),
    "a file that no item knows": (
        "belongs to no item",
        lambda f: add(f, f"{a_place(f)}/doc/unknown.txt"),
    ),
    "an item at another place": ("it is that of", moved),
    "an item that is nothing": (
        "is not an item",
        lambda f: relisted(f, f / a_place(f) / "ibi.json", b"{}"),
    ),
    "an item that knows another file": (
        "is missing",
        lambda f: manifest_of(
            f,
            lambda d: d["files"][0].update(path="x"),  # type: ignore[index]
        ),
    ),
    "an item of another size": (
        "is not as the manifest",
        lambda f: manifest_of(
            f,
            lambda d: d["files"][0].update(size=1),  # type: ignore[index]
        ),
    ),
    "an item with a file up": (
        "is not an item",
        lambda f: manifest_of(
            f,
            lambda d: d["files"][0].update(path="../ibi.json"),  # type: ignore[index]
        ),
    ),
    "an item without its metadata": (
        "belongs to no item",
        lambda f: manifest_of(f, lambda d: d.pop("metadata")),
    ),
    "an item that was deleted": (
        "should have none",
        lambda f: manifest_of(f, lambda d: d.update(state="Deleted")),
    ),
    "a service": ("should have none", lambda f: manifest_of(f, lambda d: d.update(kind="service"))),
    "a name that is no text": (
        "is not in UTF-8",
        lambda f: os.close(os.open(os.fsencode(f / "data") + b"/\xff", os.O_CREAT)),
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_bag_is_refused(folder: Path, name: str) -> None:
    words, spoil = HOSTILE[name]
    spoil(folder)
    if name not in {"of another program", "no tag manifest", "a tag file up"}:
        rewrite_tags(folder)
    with pytest.raises(IbiError) as refusal:
        verified(folder)
    assert isinstance(refusal.value, BagError)
    assert words in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_the_spoilt_ones_were_good_before(folder: Path, labels: list[str]) -> None:
    """The twin: all that `rewrite_tags` does, and nothing hostile."""
    rewrite_tags(folder)
    assert verified(folder) == sorted(labels)


def test_a_tag_file_that_was_changed_is_noticed(folder: Path) -> None:
    (folder / "bag-info.txt").write_text("Source-Organization: Somebody else\n")
    with pytest.raises(BagError, match="bag-info"):
        verified(folder)


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_other_line_ends_another_order_and_blank_lines_are_no_matter(
    folder: Path, labels: list[str], end: str
) -> None:
    edit(folder, lambda text: end.join([*reversed(text.splitlines()), "", ""]))
    rewrite_tags(folder)
    assert verified(folder) == sorted(labels)


def test_a_bag_that_another_program_made_again_is_good(folder: Path, labels: list[str]) -> None:
    make_again(folder)
    assert verified(folder) == sorted(labels)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BagError):
        verified(tmp_path / "nowhere")
