"""Programs that judge pages, which this project did not write: vnu, axe, pa11y, Lighthouse, lynx.

`make browser` installs pa11y, Lighthouse and vnu from tests/browser/package-lock.json.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import html5rdf
import playwright
from playwright.sync_api import Page

from tests.support.tools.debian import program

ROOT: Final = Path(__file__).parents[3]
PACKAGES: Final = ROOT / ".venv" / "judges"
"""The folder in which `make browser` installs packages of npm."""
SCRIPTS: Final = ROOT / "tests" / "browser"
_NODE: Final = Path(playwright.__file__).parent / "driver" / "node"
"""The Node.js that Playwright brings, newer than that of Debian."""
_LONGEST: Final = 1800
"""Seconds after which a judge of all pages is given up."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault of a page: the rule that it breaks, and the element that does."""

    page: str
    rule: str
    element: str

    def __str__(self) -> str:
        """Write the finding on one line."""
        return f"{self.page}: {self.rule}: {' '.join(self.element.split())[:300]}"


def report(findings: Iterable[Finding]) -> str:
    """Return all findings, one on a line; empty if there are none."""
    return "\n".join(sorted({str(each) for each in findings}))


def parse_errors(page: str, text: str) -> list[Finding]:
    """Return the parse errors of HTML, and the identifiers that stand twice or are not there."""
    parser = html5rdf.HTMLParser(html5rdf.getTreeBuilder("etree"), namespaceHTMLElements=False)
    document = parser.parse(text)
    lines = text.splitlines()
    found = [
        Finding(page, code, lines[line - 1] if line <= len(lines) else "")
        for (line, _), code, _ in parser.errors
    ]
    ids = [each.get("id") for each in document.iter() if each.get("id")]
    found += [
        Finding(page, "id that stands twice", each) for each in set(ids) if ids.count(each) > 1
    ]
    for element in document.iter():
        for name in ("for", "aria-labelledby", "aria-describedby", "aria-controls", "headers"):
            for each in (element.get(name) or "").split():
                if each not in ids:
                    found.append(Finding(page, f"{name} without its element", each))
    return found


def vnu(pages: Mapping[str, str], folder: Path) -> list[Finding]:
    """Let the Nu Html Checker of the W3C judge pages, in one run; warnings count too."""
    names = {}
    for number, (page, text) in enumerate(pages.items()):
        path = folder / f"{number}.html"
        path.write_text(text, encoding="utf-8")
        names[path.name] = page
    java = program("java", "default-jre-headless", "The Nu Html Checker needs Java")
    jar = PACKAGES / "node_modules/vnu-jar/build/dist/vnu.jar"
    assert jar.is_file(), "run `make browser`, which installs the judges"
    done = subprocess.run(  # noqa: S603
        [java, "-jar", str(jar), "--format", "json", "--exit-zero-always", str(folder)],
        capture_output=True,
        text=True,
        check=True,
        timeout=_LONGEST,
    )
    messages = json.loads(done.stderr)["messages"]
    return [
        Finding(names[each["url"].rpartition("/")[2]], each["message"], each.get("extract", ""))
        for each in messages
        if each["type"] == "error" or each.get("subType") == "warning"
    ]


@cache
def _axe() -> str:
    return (files("axe_playwright_python") / "axe.min.js").read_text("utf-8")


_RUN_AXE: Final = """async () => {
  const found = await axe.run(document, {resultTypes: ["violations"]});
  return found.violations.flatMap(each => each.nodes.map(node => [each.id, node.html]));
}"""


def axe(page: Page, name: str) -> list[Finding]:
    """Let axe-core judge the page that a browser shows."""
    page.evaluate(_axe())
    return [Finding(name, f"axe {rule}", element) for rule, element in page.evaluate(_RUN_AXE)]


def _run_node(script: str, question: object) -> Any:  # noqa: ANN401  # JSON
    """Run a script of ours with the packages of npm: JSON in, JSON out."""
    assert PACKAGES.is_dir(), "run `make browser`, which installs the judges"
    done = subprocess.run(  # noqa: S603
        [str(_NODE), str(SCRIPTS / script), str(PACKAGES)],
        input=json.dumps(question),
        capture_output=True,
        text=True,
        check=False,
        timeout=_LONGEST,
        env={
            **os.environ,
            "CHROME_PATH": program("chromium", "chromium", "Judges open pages in Chromium"),
        },
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def pa11y(visits: Sequence[Mapping[str, object]]) -> list[Finding]:
    """Let HTML CodeSniffer judge pages by pa11y; a visit has url, language, width and scheme."""
    return [
        Finding(f"{each['page']}", f"pa11y {each['code']}", each["element"])
        for each in _run_node("pa11y.mjs", list(visits))
    ]


def lighthouse(urls: Sequence[str], cookie: str = "") -> dict[str, dict[str, Any]]:
    """Return the scores of pages in percent by category, and the audits that cost points."""
    question = {"urls": list(urls), "cookie": cookie}
    found: dict[str, dict[str, Any]] = _run_node("lighthouse.mjs", question)
    return found


def lynx(url: str, language: str, folder: Path) -> str:
    """Return a page as a browser for terminals shows it, with the list of its links."""
    where = program("lynx", "lynx", "A browser for terminals reads the pages")
    settings = folder / f"lynx-{language}.cfg"
    settings.write_text(f"PREFERRED_LANGUAGE:{language}\nCHARACTER_SET:utf-8\n", encoding="utf-8")
    done = subprocess.run(  # noqa: S603
        [where, f"-cfg={settings}", "-dump", "-width=80", url],
        capture_output=True,
        check=False,  # lynx fails where the status of the page is an error
        timeout=60,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )
    return done.stdout.decode("utf-8")
