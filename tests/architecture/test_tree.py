"""The tree itself: where modules stand, how they are called, and what must not be in it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "ibi"

DEEPEST = 3
"""Folders below `ibi`."""
MOST_MODULES = 26
"""In one folder."""
LONGEST = 400
"""Lines of a module."""
SHORTEST = 40
"""Lines of a module that fewer than two others import."""

LONG: dict[str, str] = {}
"""Modules that may be longer, and why: a grammar or a table that is one thing."""
SHORT: dict[str, str] = {}
"""Modules that may be shorter although one other imports them, and why."""
OF_THE_WHOLE = {
    *("architecture", "attacks", "browser", "conformance", "faults", "federation", "interop"),
    *("simulation", "support", "vectors"),
}
"""Folders of tests that judge several programs or the whole, or serve other tests."""

PERSON = re.compile(
    r"(?:who|whoever|whom|whose|nobody|somebody|anybody|everybody|someone|anyone)\b", re.IGNORECASE
)
"""How a docstring begins that names a program as if it were a person."""


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


@cache
def modules() -> dict[Path, str]:
    """Return the text of every module of the program, by its path below `ibi`."""
    return {
        path.relative_to(PACKAGE): path.read_text(encoding="utf-8")
        for path in PACKAGE.rglob("*.py")
    }


def dotted(path: Path) -> str:
    parts = path.parts[:-1] if path.stem == "__init__" else path.with_suffix("").parts
    return ".".join(("ibi", *parts))


def imported(text: str) -> Iterator[str]:
    """Yield the dotted names that a module imports, of modules and of what they define."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def singular(word: str) -> str:
    return re.sub(r"(?<=[a-z]{2})s\Z", "", re.sub(r"ies\Z", "y", word))


def test_folders_are_three_levels_deep_at_most() -> None:
    assert {path for path in modules() if len(path.parent.parts) > DEEPEST} == set()


def test_no_folder_has_too_many_modules() -> None:
    count = Counter(path.parent for path in modules() if path.stem != "__init__")
    assert {folder: number for folder, number in count.items() if number > MOST_MODULES} == {}


def test_no_module_is_long() -> None:
    long = {str(path) for path, text in modules().items() if len(text.splitlines()) > LONGEST}
    assert long == set(LONG)


def test_a_small_module_has_two_importers() -> None:
    importers: defaultdict[str, set[Path]] = defaultdict(set)
    for path, text in modules().items():
        for name in imported(text):
            importers[name].add(path)
    small = {
        str(path)
        for path, text in modules().items()
        if len(text.splitlines()) < SHORTEST
        and not path.stem.startswith("__")
        # one module a command, or a step of a schema, whatever its length
        and path.parent.name not in {"cli", "migrations"}
        and len(importers[dotted(path)]) < 2
    }
    assert small == set(SHORT)


def test_no_package_re_exports_names_but_ibi_and_its_errors() -> None:
    re_exporting = set()
    for path, text in modules().items():
        if path.stem == "__init__":
            names = {
                (alias.asname or alias.name).split(".")[0]
                for node in ast.walk(ast.parse(text))
                if isinstance(node, ast.Import | ast.ImportFrom)
                and getattr(node, "module", "") != "__future__"
                for alias in node.names
            }
            used = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
            if names - used or "__all__" in used:
                re_exporting.add(str(path))
    assert re_exporting == {"__init__.py", "errors/__init__.py"}


def test_no_module_is_named_after_nothing() -> None:
    nothing = {"utils", "util", "helpers", "helper", "common", "manager", "misc"}
    assert not {path.stem for path in modules()} & nothing


def test_no_name_repeats_its_folder() -> None:
    repeating = {
        str(path)
        for path in modules()
        for first, _, rest in [path.stem.partition("_")]
        if first and rest and singular(first) == singular(path.parent.name)
    }
    assert repeating == set()


def twins(names: set[str]) -> set[tuple[str, str]]:
    """Return the pairs of a gerund and a noun that differ by their ending alone."""
    return {
        (gerund, noun)
        for gerund in names
        if gerund.endswith("ing")
        for noun in names - {gerund}
        for stem in (gerund.removesuffix("ing"), gerund.removesuffix("ing")[:-1])
        if len(stem) > 2 and noun.startswith(stem) and len(noun) - len(stem) <= 3
    }


def test_no_gerund_stands_beside_its_noun() -> None:
    assert twins({"transfer", "transferring", "copies", "copying", "string", "strange"}) == {
        ("transferring", "transfer"),
        ("copying", "copies"),
    }
    for folder in {path.parent for path in modules()}:
        assert twins({path.stem for path in (PACKAGE / folder).iterdir()}) == set()


def docstrings(text: str) -> Iterator[tuple[int, str]]:
    """Yield every string that stands alone, of modules, classes, functions and constants."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(said))):
                yield node.lineno, said.strip()


def test_a_docstring_names_its_subject() -> None:
    found = {
        f"{path}:{line}: {said[:60]}"
        for path, text in modules().items()
        for line, said in docstrings(text)
        if PERSON.match(said)
    }
    assert found == set()


def test_tests_mirror_the_program() -> None:
    folders = {path.parent.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("*.py")}
    mirroring = {path for path in folders if path.parts and path.parts[0] not in OF_THE_WHOLE}
    assert {path for path in mirroring if not (PACKAGE / path).is_dir()} == set()
    assert {path.name for path in (ROOT / "tests").glob("*.py")} == {"conftest.py"}
    assert {path.name for path in (ROOT / "bench").glob("*.py")} == {"run.py"}


def test_what_tools_leave_behind_is_not_in_the_tree() -> None:
    left = {".schemathesis", ".hypothesis", "__pycache__"}
    assert {path for path in tracked() if left & set(path.relative_to(ROOT).parts)} == set()


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
