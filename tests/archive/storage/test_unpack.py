"""Zip and tar files taken apart; hostile ones are in tests/attacks."""

from __future__ import annotations

import gzip
import io
import stat
import struct
import subprocess
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ibi.archive.storage.unpack.unpack import UnpackLimits, unpack
from ibi.errors import UnpackError

FILES = {
    "a.txt": b"one",
    "b/c/d.bin": bytes(range(256)) * 9000,
    "b/vazio": b"",
    "São/ação.txt": b"x",
}


class Collected(dict[str, bytes]):
    """Keeps what is written."""

    @contextmanager
    def write(self, path: str) -> Iterator[io.BytesIO]:
        """Open a file."""
        file = io.BytesIO()
        yield file
        self[path] = file.getvalue()


def unpacked(source: bytes, limits: UnpackLimits | None = None) -> dict[str, bytes]:
    files = Collected()
    paths = unpack(io.BytesIO(source), files.write, limits)
    assert paths == list(files)
    return files


def zipped(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", method) as file:
        file.mkdir("b")
        for name, data in files.items():
            file.writestr(name, data)
    return target.getvalue()


def tarred(files: dict[str, bytes], mode: str = "w", form: int = tarfile.PAX_FORMAT) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode=mode, format=form) as file:  # type: ignore[call-overload]
        folder = tarfile.TarInfo("./b")
        folder.type = tarfile.DIRTYPE
        file.addfile(folder)
        for name, data in files.items():
            info = tarfile.TarInfo(f"./{name}")
            info.size = len(data)
            file.addfile(info, io.BytesIO(data))
    return target.getvalue()


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_zip(method: int) -> None:
    assert unpacked(zipped(FILES, method)) == FILES


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_tar(mode: str, form: int) -> None:
    long = {"/".join(["folder"] * 13) + "/" + "f" * 90: b"long"}
    assert unpacked(tarred(FILES | long, mode, form)) == FILES | long


def test_a_path(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(zipped(FILES))
    files = Collected()
    assert unpack(tmp_path / "a", files.write) == list(FILES)


def test_what_gnu_tar_and_xz_write(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "ã").write_bytes(b"1" * 100_000)
    command = ["tar", "-C", str(tmp_path / "in"), "-cJf", str(tmp_path / "a.tar.xz"), "."]
    subprocess.run(command, check=True)  # noqa: S603
    assert unpacked((tmp_path / "a.tar.xz").read_bytes()) == {"ã": b"1" * 100_000}


def test_streams_in_a_row_are_one() -> None:
    plain = tarred(FILES)
    assert unpacked(gzip.compress(plain[:700]) + gzip.compress(plain[700:]) + bytes(512)) == FILES


def test_a_zip_file_with_sizes_of_64_bits_and_sizes_that_follow() -> None:
    class Unseekable(io.BytesIO):
        def seekable(self) -> bool:
            return False

        def seek(self, *_: int) -> int:
            raise io.UnsupportedOperation

        def tell(self) -> int:
            raise io.UnsupportedOperation

    target = Unseekable()
    with zipfile.ZipFile(target, "w") as file, file.open("a", "w", force_zip64=True) as entry:
        entry.write(b"data")
    assert unpacked(target.getvalue()) == {"a": b"data"}


@pytest.mark.parametrize(
    ("raw", "system", "expected"),
    [
        ("ação.txt".encode(), 0, "ação.txt"),
        ("ação.txt".encode("cp850"), 0, "ação.txt"),
        ("é".encode("cp437"), 10, "é"),
        ("ação.txt".encode("latin-1"), 3, "ação.txt"),
    ],
)
def test_names_without_a_word_on_their_charset(raw: bytes, system: int, expected: str) -> None:
    stand_in = "x" * len(raw)
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as file:
        info = zipfile.ZipInfo(stand_in)
        info.create_system = system
        file.writestr(info, b"1")
    assert unpacked(target.getvalue().replace(stand_in.encode(), raw)) == {expected: b"1"}


def test_a_name_in_unicode_in_a_field_of_its_own() -> None:
    info = zipfile.ZipInfo("caf")
    info.extra = struct.pack("<HHBL", 0x7075, 10, 1, zlib.crc32(b"caf")) + "café".encode()
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as file:
        file.writestr(info, b"1")
    assert unpacked(target.getvalue()) == {"café": b"1"}


def test_an_empty_zip_file_has_no_files() -> None:
    target = io.BytesIO()
    zipfile.ZipFile(target, "w").close()
    assert unpacked(target.getvalue()) == {}


@pytest.mark.parametrize("data", [b"", b"PK", b"text", bytes(10_240), b"\x1f\x8b\x08", b"BZh9"])
def test_what_is_neither_is_refused(data: bytes) -> None:
    with pytest.raises(UnpackError):
        unpacked(data)


@pytest.mark.parametrize("make", [zipped, tarred])
@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (UnpackLimits(entries=3), "more than 3 files"),
        (UnpackLimits(names=20), "paths in it"),
        (UnpackLimits(total=1_000_000), "bytes come out"),
        (UnpackLimits(file=1_000_000), "larger than 1,000,000"),
        (UnpackLimits(ratio=0, exempt=1_000), "bytes come out"),
    ],
)
def test_limits(
    make: Callable[[dict[str, bytes]], bytes], limits: UnpackLimits, reason: str
) -> None:
    with pytest.raises(UnpackError, match=reason):
        unpacked(make(FILES), limits)


def test_folders_that_nobody_lists_count_too() -> None:
    with pytest.raises(UnpackError, match="more than 30 files"):
        unpacked(
            zipped({"/".join("abcdefghij") + f"/{x}": b"" for x in range(25)}),
            UnpackLimits(entries=30),
        )


@pytest.mark.parametrize("make", [zipped, tarred])
@pytest.mark.parametrize("cut", [1, 30, 513, 5_000])
def test_what_is_cut_off_is_refused(make: Callable[[dict[str, bytes]], bytes], cut: int) -> None:
    data = make(FILES)
    end = len(data) - cut if make is zipped else len(data) - 10_240 - cut
    with pytest.raises(UnpackError):
        unpacked(data[:end])


def test_a_flipped_byte_is_found_by_zip() -> None:
    data = bytearray(zipped(FILES, zipfile.ZIP_STORED))
    data[data.index(bytes(range(256))) + 700] ^= 1
    with pytest.raises(UnpackError, match="damaged"):
        unpacked(bytes(data))


def test_an_error_names_its_entry() -> None:
    info = zipfile.ZipInfo("the link")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as file:
        file.writestr(info, "/etc/passwd")
    with pytest.raises(UnpackError, match="the link"):
        unpacked(target.getvalue())
