"""The settings of an archive: what cannot be is told when they are read, by file and name."""

from __future__ import annotations

from pathlib import Path

import pytest

from ibi.archive.settings import missing_for_linking, read_archive
from ibi.errors import ArchiveRequestError
from ibi.foundation.settings_file import written

GOOD = {
    "name": '"An archive"',
    "address": '"http://archive.example.org"',
    "host": '"archive.example.org"',
    "port": "80",
}


def settings_file(folder: Path, /, **changed: str) -> Path:
    lines = [f"{name} = {value}\n" for name, value in (GOOD | changed).items()]
    (folder / "archive.toml").write_text("".join(lines), "utf-8")
    return folder


def test_the_settings_that_are_usual_need_not_be_written(tmp_path: Path) -> None:
    settings = read_archive(settings_file(tmp_path))
    assert settings.listen == "127.0.0.1:8801"
    assert written(settings).splitlines() == [f"{name} = {GOOD[name]}" for name in GOOD]


@pytest.mark.parametrize(
    "address",
    ["http://archive.example.org/", "HTTP://Archive.Example.ORG", "http://archive.EXAMPLE.org//"],
)
def test_an_address_is_read_as_resolvers_write_it(tmp_path: Path, address: str) -> None:
    settings = read_archive(settings_file(tmp_path, address=f'"{address}"'))
    assert settings.address == "http://archive.example.org"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("address", '"archive.example.org"'),
        ("address", '"http://archive.example.org/path"'),
        ("address", '"http://archive.example.org:99999"'),
        ("address", '"http://archive.example.org:0"'),
        ("address", '"http://[x"'),
        ("address", '""'),
        ("name", '" "'),
        ("name", '"a\\nb"'),
        ("host", '"one-word"'),
        ("host", '""'),
        ("port", "0"),
        ("port", "70000"),
        ("ip", '"300.1.1.1"'),
        ("ip", '"10.0.0.1"'),
        ("ip_port", "0"),
        ("administrator", '"nobody at all"'),
        ("openid_join", '"everybody"'),
        ("mail_language", '"xx"'),
        ("listen", '"nowhere"'),
        ("listen", '"127.0.0.1:70000"'),
        ("platform_software", '"Tcl 9"'),
        ("catalogue", '""'),
        ("ledger", '""'),
        ("granularity", '"weekly"'),
        ("largest_file", "0"),
        ("requests_a_second", "0"),
        ("requests_a_second", '"many"'),
        ("keep_replaced", "1"),
        ("largest_fiel", "1"),
        ("folder", '"/etc"'),
    ],
)
def test_what_cannot_be_is_told_by_file_and_name(tmp_path: Path, name: str, value: str) -> None:
    with pytest.raises(ArchiveRequestError) as refused:
        read_archive(settings_file(tmp_path, **{name: value}))
    sentence = str(refused.value)
    assert str(tmp_path / "archive.toml") in sentence
    assert name in sentence.removeprefix(str(tmp_path))
    assert "\n" not in sentence


def test_what_must_be_there_is_missed(tmp_path: Path) -> None:
    (tmp_path / "archive.toml").write_text('name = "x"\n')
    with pytest.raises(ArchiveRequestError, match="`address`"):
        read_archive(tmp_path)


def test_resolvers_are_told_nothing_that_nobody_said(tmp_path: Path) -> None:
    bare = missing_for_linking(read_archive(settings_file(tmp_path)))
    assert "`ip` and `administrator`" in bare
    half = read_archive(settings_file(tmp_path, ip='"150.163.34.243"'))
    assert "set `administrator`" in missing_for_linking(half)
    whole = settings_file(tmp_path, ip='"150.163.34.243"', administrator='"a@example.org"')
    assert missing_for_linking(read_archive(whole)) == ""
