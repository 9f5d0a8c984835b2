"""The pages of the documentation can all be reached, and what they name exists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import ibi

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PACKAGE = ROOT / "src" / "ibi"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
ARCHITECTURE = DOCS / "architecture.md"
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)")
NAV = re.compile(
    r"^ +- (?:(?:\"(?P<quoted>[^\"]+)\"|(?P<plain>[^:\"]+)): )?(?P<page>\S+\.md)$", re.MULTILINE
)


def links(page: Path) -> Iterator[tuple[Path, str]]:
    """Yield the file and the anchor of each relative link of a page."""
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    for match in LINK.finditer(text):
        target, anchor = match.groups()
        yield (page.parent / target).resolve() if target else page, anchor or ""


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a page, as mkdocs and GitHub make them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}


def is_there(path: Path) -> bool:
    """Tell whether a file is there, or a folder with files other than byte code."""
    if not path.is_dir():
        return path.is_file()
    return any(each.is_file() and each.suffix != ".pyc" for each in path.rglob("*"))


def heading(page: Path) -> str:
    """Return the title of a page."""
    return page.read_text("utf-8").splitlines()[0].removeprefix("# ")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for target, anchor in links(page):
        assert target.exists(), target
        assert not anchor or anchor in anchors(target), f"{target}#{anchor}"


def test_the_index_links_to_every_page() -> None:
    reached = {
        target for page in (DOCS / "index.md", DOCS / "adr/index.md") for target, _ in links(page)
    }
    assert set(DOCS.rglob("*.md")) - reached == {DOCS / "index.md"}


def test_the_navigation_of_the_site_has_every_page() -> None:
    found = {match["page"] for match in NAV.finditer((ROOT / "mkdocs.yml").read_text("utf-8"))}
    assert found == {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}


def test_decision_records_have_one_title_everywhere() -> None:
    records = {
        page.name: heading(page) for page in DOCS.glob("adr/*.md") if page.name != "index.md"
    }
    navigation = {
        match["page"].removeprefix("adr/"): match["quoted"].replace(":", ".", 1)
        for match in NAV.finditer((ROOT / "mkdocs.yml").read_text("utf-8"))
        if match["page"].startswith("adr/0")
    }
    listed = re.findall(
        r"^(\d+)\. \[([^\]]*)\]\(([^)]*)\)$",
        (DOCS / "adr/index.md").read_text("utf-8"),
        re.MULTILINE,
    )
    assert navigation == records
    assert {page: f"{number}. {title}" for number, title, page in listed} == records
    assert all(int(page[:4]) == int(title.split(".")[0]) for page, title in records.items())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_path_that_a_page_names_exists(page: Path) -> None:
    named = re.findall(r"`((?:src|tests|bench|docs)/[\w./-]*)`", page.read_text("utf-8"))
    assert [path for path in named if not is_there(ROOT / path)] == []


def test_every_file_of_the_flows_exists() -> None:
    named = re.findall(r"`([a-z_]+/[\w/]*(?:\.py|/))`", ARCHITECTURE.read_text("utf-8"))
    here = [path for path in named if not path.startswith(("src/", "tests/", "bench/", "docs/"))]
    assert len(here) > 80
    assert [path for path in here if not is_there(PACKAGE / path)] == []


def test_the_library_has_every_class_that_its_reference_names() -> None:
    text = (DOCS / "reference/python.md").read_text("utf-8")
    named = set(re.findall(r"`([A-Z][a-z][A-Za-z]*)\b", text)) - {"None", "True", "False"}
    assert named >= {"Description", "Reading", "Minter"}
    assert named - {"ValueError"} <= set(ibi.__all__)


def tree() -> dict[str, list[str]]:
    """Return the folders of each drawn tree of the architecture page, by the folder at its top."""
    text = ARCHITECTURE.read_text("utf-8")
    found: dict[str, list[str]] = {}
    for block in re.findall(r"```text\n((?:src|tests|bench)/.*?)```", text, re.DOTALL):
        top = ""
        path: list[str] = []
        for line in block.splitlines():
            if not line.startswith(" "):
                top, path = line, []
                found[top] = []
                continue
            indent, name = re.findall(r"^( *)(\S+?)/?(?: |$)", line)[0]
            path[len(indent) // 2 - 1 :] = [name]
            found[top].append("/".join(path))
    return found


def test_the_tree_shows_every_folder_of_the_program() -> None:
    folders = {str(path.parent.relative_to(PACKAGE)) for path in PACKAGE.rglob("__init__.py")}
    assert set(tree()["src/ibi/"]) == folders - {"."}


@pytest.mark.parametrize("top", ["tests/", "bench/"])
def test_the_trees_show_every_folder_of_tests_and_benchmarks(top: str) -> None:
    files = ((ROOT / top).rglob(f"*.{kind}") for kind in ("py", "svg", "tsv"))
    parents = {path.relative_to(ROOT / top).parent for found in files for path in found}
    folders = {"/".join(path.parts[:depth]) for path in parents for depth in (1, 2) if path.parts}
    drawn = set(tree()[top])
    # The folders in a folder are drawn all, or none of them where they mirror the program.
    opened = {folder.rpartition("/")[0] for folder in drawn}
    assert drawn == {folder for folder in folders if folder.rpartition("/")[0] in opened}


def test_everything_in_the_trees_exists() -> None:
    missing = [
        f"{top}{name}"
        for top, names in tree().items()
        for name in names
        if not is_there(ROOT / top / name)
    ]
    assert missing == []
