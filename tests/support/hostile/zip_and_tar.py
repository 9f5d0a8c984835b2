"""Hostile zip and tar files, made by hand because no honest tool writes them."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

MB: Final = 1 << 20
PATHS: Final = [
    "../evil",
    "../../evil",
    "a/../../evil",
    "a/b/../../../evil",
    "./../evil",
    "..",
    "a//evil",
    "a/./evil",
    "..\\evil",
    "a\\..\\..\\evil",
    "C:\\evil",
    "C:evil",
    "evil\n",
    "evil\x1b[2J",
    "nul",
    "con.txt",
    "evil.",
    "evil ",
    "a?b",
    "exe\u202egpj.exe",
    "/".join(["d"] * 60),
    "x" * 300,
    "x/" * 600 + "x",
]


@dataclass(frozen=True)
class Hostile:
    """One of them; the mutated ones may be harmless by chance."""

    name: str
    make: Callable[[], bytes]
    must_be_refused: bool = True


def hostile(outside: Path) -> Iterator[Hostile]:
    """Yield all of them; `outside` is where an absolute path leads."""
    paths = [*PATHS, str(outside / "evil")]
    for number, path in enumerate(paths):
        yield Hostile(f"zip-path-{number}", partial(zipped, (path, b"evil")))
        yield Hostile(f"tar-path-{number}", partial(tarred, (path, b"evil")))
    yield Hostile("zip-nul", lambda: zipped(("evilX.txt", b"1")).replace(b"evilX", b"evil\0"))
    for kind in (stat.S_IFLNK, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFSOCK):
        yield Hostile(f"zip-kind-{kind:o}", partial(_zip_kind, kind, str(outside)))
    for kind_byte in (b"1", b"2", b"3", b"4", b"6", b"S", b"D", b"V", b"M", b"Z"):
        yield Hostile(f"tar-kind-{kind_byte.decode()}", partial(_tar_kind, kind_byte, outside))
    yield Hostile("tar-link-and-through-it", partial(_tar_through_link, outside))
    for first, second in (("a", "A"), ("a", "a"), ("a", "a/b"), ("a/b", "a"), ("é", "e\u0301")):
        yield Hostile(
            f"zip-clash-{len(first + second)}-{second}", partial(_clash, zipped, first, second)
        )
        yield Hostile(
            f"tar-clash-{len(first + second)}-{second}", partial(_clash, tarred, first, second)
        )
    yield from _zip_lies()
    yield from _tar_lies()
    yield from _bombs()
    for number in range(200):
        make = zipped if number % 2 else tarred
        yield Hostile(f"mutated-{number}", partial(_mutated, make, number), must_be_refused=False)


def zipped(*files: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Make a zip file; names are written as they are."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", method) as file:
        for number, (name, data) in enumerate(files):
            info = zipfile.ZipInfo(f"{number:06}")
            info.filename = name  # the constructor would cut it at a NUL
            info.compress_type = method
            file.NameToInfo.clear()  # it would warn of names that are there twice
            file.writestr(info, data)
    return target.getvalue()


def tarred(*files: tuple[str, bytes]) -> bytes:
    """Make a tar file."""
    return b"".join(entry(name, data) for name, data in files) + bytes(1024)


def entry(name: str, data: bytes, kind: bytes = b"0", link: str = "", size: bytes = b"") -> bytes:
    """Make one entry of a tar file, with a long name if need be."""
    raw = name.encode()
    before = entry("long", raw + b"\0", b"L") if len(raw) > 100 else b""  # ustar
    header = bytearray(512)
    header[: len(raw[:100])] = raw[:100]
    header[100:108] = b"0000644\0"
    header[124:136] = size or b"%011o\0" % len(data)
    header[156:157] = kind
    header[157 : 157 + len(link[:100])] = link[:100].encode()
    header[257:265] = b"ustar  \0"
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return before + bytes(header) + data + bytes(-len(data) % 512)


def _zip_kind(kind: int, target: str) -> bytes:
    info = zipfile.ZipInfo("evil")
    info.external_attr = (kind | 0o777) << 16
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        file.writestr(info, target)
    return made.getvalue()


def _tar_kind(kind: bytes, outside: Path) -> bytes:
    return entry("evil", b"", kind, str(outside / "canary")) + bytes(1024)


def _tar_through_link(outside: Path) -> bytes:
    return entry("a", b"", b"2", str(outside)) + tarred(("a/evil", b"evil"))


def _clash(make: Callable[..., bytes], first: str, second: str) -> bytes:
    return make((first, b"1"), (second, b"2"))


def _patched(data: bytes, signature: bytes, offset: int, value: bytes) -> bytes:
    """Return a zip file in which a field of its last header of a kind is another one."""
    at = data.rindex(signature) + offset
    return data[:at] + value + data[at + len(value) :]


def _zip_lies() -> Iterator[Hostile]:
    good = zipped(("a", b"1" * 1000), ("b", b"2" * 1000))
    central, local, end = b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06"
    lies = {
        "encrypted": (central, 8, b"\x01\x00"),
        "strongly-encrypted": (central, 8, b"\x40\x00"),
        "method": (central, 10, b"\x63\x00"),
        "lzma": (central, 10, b"\x0e\x00"),
        "checksum": (central, 16, b"evil"),
        "packed": (central, 20, b"\xff\x00\x00\x00"),
        "size": (central, 24, b"\x01\x00\x00\x00"),
        "huge": (central, 24, b"\xfe\xff\xff\xff"),
        "wide-size-absent": (central, 24, b"\xff\xff\xff\xff"),
        "same-place": (central, 42, bytes(4)),
        "place": (central, 42, b"\xfe\xff\xff\xff"),
        "central-name": (central, 46, b"c"),
        "local-name": (local, 30, b"c"),
        "local-method": (local, 8, b"\0\0"),
        "local-size": (local, 22, b"\1\0\0\0"),
        "local-encrypted": (local, 6, b"\1\0"),
        "fewer": (end, 8, b"\1\0\1\0"),
        "more": (end, 8, b"\3\0\3\0"),
        "many": (end, 8, b"\xfe\xff\xfe\xff"),
        "disks": (end, 4, b"\1\0"),
        "directory-size": (end, 12, b"\xfe\xff\xff\x7f"),
        "directory-place": (end, 16, b"\1\0\0\0"),
        "wide-end-absent": (end, 16, b"\xff\xff\xff\xff"),
        "comment": (end, 20, b"\xff\0"),
    }
    for name, lie in lies.items():
        yield Hostile(f"zip-{name}", partial(_patched, good, *lie))
    yield Hostile("zip-before", lambda: b"PK\x03\x04" + bytes(100) + good)
    yield Hostile("zip-after", lambda: good + b"more")
    yield Hostile("zip-two", lambda: good + zipped(("c", b"")))
    yield Hostile("zip-wide-place", _zip_wide_place)
    yield Hostile("zip-overlapping", _zip_overlapping)
    yield Hostile("zip-entries", lambda: zipped(*((f"{n}", b"") for n in range(60_000))))
    yield Hostile("zip-long-names", _zip_long_names)


def _zip_wide_place() -> bytes:
    """Make a directory whose only entry lies beyond what a signed number can say."""
    field = struct.pack("<2HQ", 1, 8, (1 << 64) - 1)
    central = struct.pack("<4s6H3L5H2L", b"PK\x01\x02", 20, 20, 0, 0, 0, 0, 0, 0, 0, 1,
                          len(field), 0, 0, 0, 0, 0xFFFFFFFF) + b"a" + field  # fmt: skip
    start = b"PK\x03\x04" + bytes(27)
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1, 1, len(central), len(start), 0)
    return start + central + end


def _zip_overlapping() -> bytes:
    """Make many entries of one kernel, each of which has the next headers for its first bytes."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    kernel = packer.compress(bytes(4 * MB)) + packer.flush()
    crc = zlib.crc32(bytes(4 * MB))
    body, central = b"", b""
    for number in reversed(range(100)):
        name = f"{number:04}".encode()
        quoted = struct.pack("<BHH", 0, len(body) & 0xFFFF, ~len(body) & 0xFFFF) if body else b""
        packed = len(kernel) if not body else len(quoted) + len(body) + len(kernel)
        head = struct.pack("<4s5H3L2H", b"PK\x03\x04", 20, 0, 8, 0, 0, crc, packed, 4 * MB, 4, 0)
        body = head + name + quoted + body
        central = struct.pack("<4s6H3L5H2L", b"PK\x01\x02", 20, 20, 0, 8, 0, 0, crc, packed,
                              4 * MB, 4, 0, 0, 0, 0, 0, 39 * number) + name + central  # fmt: skip
    place = len(body) + len(kernel)
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 100, 100, len(central), place, 0)
    return body + kernel + central + end


def _zip_long_names() -> bytes:
    """Make a directory of 90 MB: 1,500 entries with names of 60 kB."""
    name = b"x" * 60_000
    local = struct.pack("<4s5H3L2H", b"PK\x03\x04", 20, 0, 0, 0, 0, 0, 0, 0, 1, 0) + b"x"
    one = struct.pack("<4s6H3L5H2L", b"PK\x01\x02", 20, 20, 0, 0, 0, 0, 0, 0, 0, len(name),
                      0, 0, 0, 0, 0, 0) + name  # fmt: skip
    length = 1500 * len(one)
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1500, 1500, length, len(local), 0)
    return local + one * 1500 + end


def _pax(*records: tuple[str, str]) -> bytes:
    lines = b""
    for key, value in records:
        body = f" {key}={value}\n".encode()
        length = len(body) + len(str(len(body) + 3))
        lines += str(length).encode() + body
    return lines


def _tar_lies() -> Iterator[Hostile]:
    file = tarred(("a", b"1"))
    for name, size in {
        "negative": b"-0000000777\0",
        "underscores": b"0000_000_01\0",
        "letters": b"letters____\0",
        "huge": b"77777777777\0",
        "huge-256": b"\x80" + b"\x7f" + bytes(10),
        "negative-256": b"\xff" * 12,
    }.items():
        yield Hostile(f"tar-size-{name}", partial(entry, "a", b"1" * 512, size=size))
    yield Hostile("tar-no-end", lambda: file[:1024])
    yield Hostile("tar-after", lambda: file + b"more" * 128)
    yield Hostile("tar-two", lambda: file + tarred(("../evil", b"")))
    yield Hostile("tar-pax-path", lambda: entry("x", _pax(("path", "../evil")), b"x") + file)
    yield Hostile("tar-pax-global", lambda: entry("x", _pax(("path", "b")), b"g") + file)
    yield Hostile("tar-pax-size", lambda: entry("x", _pax(("size", "-1")), b"x") + file)
    yield Hostile(
        "tar-pax-sparse", lambda: entry("x", _pax(("GNU.sparse.major", "1")), b"x") + file
    )
    yield Hostile("tar-pax-garbage", lambda: entry("x", b"99 path", b"x") + file)
    yield Hostile("tar-pax-zero", lambda: entry("x", b"0 path=a\n", b"x") + file)
    yield Hostile("tar-pax-chain", lambda: entry("x", _pax(("comment", "y")), b"x") * 5000 + file)
    yield Hostile("tar-global-chain", lambda: entry("x", _pax(("a", "y")), b"g") * 5000 + file)
    yield Hostile("tar-pax-huge", partial(_streams, gzip.compress, _huge(b"x")))
    yield Hostile("tar-name-huge", partial(_streams, gzip.compress, _huge(b"L")))
    yield Hostile("tar-entries", lambda: tarred(*((f"{n}", b"") for n in range(60_000))))
    yield Hostile("tar-folders", lambda: b"".join(
        entry(f"{n}", b"", b"5") for n in range(60_000)) + bytes(1024))  # fmt: skip


def _bombs() -> Iterator[Hostile]:
    yield Hostile("zip-bomb", lambda: zipped(("a", bytes(300 * MB))))
    yield Hostile("zip-bombs", lambda: zipped(*((f"{n}", bytes(4 * MB)) for n in range(40))))
    yield Hostile("gz-bomb", partial(_streams, gzip.compress, _huge(b"0")))
    yield Hostile("bz2-bomb", partial(_streams, bz2.compress, _huge(b"0")))
    yield Hostile("xz-bomb", partial(_streams, lzma.compress, _huge(b"0")))
    yield Hostile("xz-dictionary", lambda: _xz_dictionary(tarred(("a", b"1"))))
    yield Hostile("gz-trailing-zeros", partial(_streams, gzip.compress, tarred(("a", b"1"))))


def _huge(kind: bytes) -> bytes:
    """Make a header that announces 400 MB."""
    return entry("a", b"", kind, size=b"%011o\0" % (400 * MB))


def _streams(compress: Callable[[bytes], bytes], beginning: bytes) -> bytes:
    """Compress a beginning and 400 MB of zeros, as so many streams in a row."""
    return compress(beginning) + compress(bytes(MB)) * 400


def _xz_dictionary(data: bytes) -> bytes:
    """Compress with a dictionary of 1.5 GB: its size is one byte of a header, with a checksum."""
    made = bytearray(lzma.compress(data, lzma.FORMAT_XZ, preset=0))
    size = (made[12] + 1) * 4
    made[12 + 4] = 39
    made[12 + size - 4 : 12 + size] = zlib.crc32(made[12 : 12 + size - 4]).to_bytes(4, "little")
    return bytes(made)


def _mutated(make: Callable[..., bytes], seed: int) -> bytes:
    chance = random.Random(seed)  # noqa: S311  # which byte to change
    data = bytearray(make(("a.txt", b"one" * 100), ("b/c", bytes(range(256)) * 8), ("b/ã", b"")))
    for _ in range(chance.randint(1, 6)):
        data[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(data[: chance.choice([len(data), len(data), chance.randrange(len(data))])])


def harmless() -> list[tuple[str, Callable[[], bytes]]]:
    """Return two that must be taken."""
    files = (("a.txt", b"one"), ("b/c", bytes(100_000)))
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz") as file:
        for name, data in files:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            file.addfile(info, io.BytesIO(data))
    return [("good-zip", partial(zipped, *files)), ("good-tar", target.getvalue)]


def chosen(outside: Path, count: int) -> list[Hostile]:
    """Return some of 200 hostile files: all kinds that must be refused are among the 200."""
    everything = list(hostile(outside))
    meant = [each for each in everything if each.must_be_refused]
    mutated = [each for each in everything if not each.must_be_refused]
    everything = [*meant, *mutated[: 200 - len(meant)]]
    assert len(everything) == 200
    return everything[:: 200 // count]
