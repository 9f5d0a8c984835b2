"""The tree itself: what stands in it, and what must not."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    paths = [ROOT / name for name in listed.stdout.splitlines()]
    return [path for path in paths if path.is_file()]


def test_no_file_of_the_program_is_long() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for path in (ROOT / "src").rglob("*.py")
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > 400
    }
    assert long == {}


def test_no_module_is_named_after_nothing() -> None:
    nothing = {"utils", "util", "helpers", "helper", "common", "manager", "misc"}
    assert not {path.stem for path in (ROOT / "src").rglob("*.py")} & nothing


def test_folders_are_three_levels_deep_at_most() -> None:
    package = ROOT / "src" / "ibi"
    assert max(len(path.relative_to(package).parts) for path in package.rglob("*.py")) <= 4


def test_no_registry_and_no_path_of_one_machine_stands_in_the_tree() -> None:
    # Written apart, or this file would be found.
    names = ("py" + "pi.org", "python" + "hosted", "npm" + "js", "/wo" + "rk/", "../sha" + "red")
    forbidden = re.compile("|".join(re.escape(name) for name in names))
    found = {
        str(path.relative_to(ROOT))
        for path in tracked()
        if forbidden.search(path.read_text(encoding="utf-8", errors="replace"))
    }
    assert found == set()


def test_importing_starts_and_loads_little() -> None:
    code = (
        "import sys, ibi; "
        "print(sorted({'langcodes', 'iso3166', 'click', 'socket', 'asyncio'} & set(sys.modules)))"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")


@pytest.mark.parametrize(
    "page", [path for path in tracked() if path.suffix == ".md"], ids=lambda path: path.name
)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" not in target and not target.startswith("mailto:"):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
