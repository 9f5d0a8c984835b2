"""Settings files that this version cannot read, and folders that none can."""

from __future__ import annotations

import os
from importlib.metadata import version
from pathlib import Path

import pytest

from ibi.archive.settings import read_archive
from ibi.errors import RequestError
from ibi.resolver.settings import read_resolver
from tests.support.processes.shell import Shell

NOT_UTF8 = os.fsdecode(b"d\xffx")


def resolver_with(folder: Path, lines: str) -> None:
    text = f'name = "x"\naddress = "http://127.0.0.1:8800"\n{lines}'
    (folder / "resolver.toml").write_text(text, encoding="utf-8")


def test_a_setting_that_this_version_lacks_may_be_of_a_newer_one(tmp_path: Path) -> None:
    resolver_with(tmp_path, "tea_time = 5\n")
    with pytest.raises(RequestError) as refused:
        read_resolver(tmp_path)
    said = str(refused.value)
    assert f"This version of ibi ({version('ibi')}) has no setting 'tea_time'" in said
    assert said.startswith(str(tmp_path / "resolver.toml"))
    assert said.endswith("the name is wrong, or a newer version wrote the file.")


def test_all_settings_that_this_version_lacks_are_named_at_once(tmp_path: Path) -> None:
    resolver_with(tmp_path, "tea_time = 5\nbiscuits = true\n")
    with pytest.raises(RequestError, match="has no settings 'biscuits', 'tea_time': "):
        read_resolver(tmp_path)
    (tmp_path / "archive.toml").write_text("tea_time = 5\nbiscuits = 1\n", encoding="utf-8")
    with pytest.raises(RequestError, match="has no settings 'biscuits', 'tea_time': "):
        read_archive(tmp_path)


def test_a_file_of_nothing_but_brackets_is_refused(tmp_path: Path) -> None:
    resolver_with(tmp_path, f"proxies = {'[' * 10_000}")
    with pytest.raises(RequestError, match=r"resolver\.toml cannot be read: "):
        read_resolver(tmp_path)


def test_a_setting_that_is_misspelt_gets_a_suggestion(tmp_path: Path) -> None:
    resolver_with(tmp_path, "hot_second = 5\n")
    with pytest.raises(RequestError, match=r"Did you mean hot_seconds\?$"):
        read_resolver(tmp_path)


@pytest.mark.parametrize(
    "command",
    [
        ("up", "--data"),
        ("archive", "init", "--data"),
        ("resolver", "init", "--address", "http://r.example.org", "--data"),
        ("mint", "--host", "a.example.org", "--ledger"),
    ],
    ids=["up", "archive", "resolver", "ledger"],
)
def test_a_folder_whose_name_is_no_utf8_is_refused_in_one_line(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    place = tmp_path / NOT_UTF8
    assert "its path is not UTF-8" in Shell(tmp_path).refused(*command, str(place))
    assert not place.exists()
