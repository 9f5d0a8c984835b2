"""Threats, row 29: drafts of others, hostile texts and names in drafts, and full disks.

The attacks act on the services and templates themselves; over HTTP they are tried in
tests/archive/drafts. A twin is the same attack without the guard.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from jinja2 import Environment

from ibi.archive.drafts.description import KNOWN, RecordForm
from ibi.archive.drafts.drafts import DraftLimits, Drafts
from ibi.archive.drafts.files import DraftFiles
from ibi.archive.drafts.quota import Quota
from ibi.archive.ports.drafts import DepositDraft, DraftPlace
from ibi.archive.settings import ArchiveSettings
from ibi.archive.web.drafts.reading import DraftReader
from ibi.archive.web.drafts.views import DraftListView, ReviewView
from ibi.archive.web.pages import Pages
from ibi.errors import IbiError, TooLargeError, UnknownError
from ibi.foundation.pages import templates
from ibi.foundation.pages.identity import identity_of
from ibi.foundation.translation.language import preference_of
from tests.support.hostile.script_payloads import VECTORS
from tests.support.scenes.small_archive import SmallArchive

ANA, EVE = "@ana", "@eve"
LARGEST = 1000


class Scene:
    """An archive with drafts, and the pages that show them."""

    def __init__(self, folder: Path, bytes_each: int = 0) -> None:
        self.small = SmallArchive(folder)
        form = RecordForm("An archive")
        self.drafts = Drafts(
            self.small.archive, self.small.deposits, form, DraftLimits(bytes_each=bytes_each)
        )
        self.files = DraftFiles(self.small.archive, self.small.deposits, self.drafts)
        self.reader = DraftReader(self.small.archive, self.drafts, self.files, form, LARGEST)
        settings = ArchiveSettings(
            folder=folder, name="A", address="http://a.example.org", host="a.example.org", port=80
        )
        self.pages = Pages(identity_of(settings), settings.address)

    def send(self, draft: DepositDraft, path: str, content: bytes, owner: str = ANA) -> None:
        """Send a whole file."""
        with self.files.receive(draft.id, owner, path, 0) as sink:
            sink.write(content)
            sink.finish()

    def page(self, template: str, view: object) -> str:
        """Return a page in English."""
        reader = preference_of("", "en")
        return self.pages.page(template, view, reader, "/deposit/x").html


# --- drafts of others -----------------------------------------------------------------------------


def stolen(scene: Scene) -> list[str]:
    """Return which acts of another person on a draft succeed."""
    draft = scene.drafts.open(ANA, fields=(("title", "Secret"),))
    scene.send(draft, "a", b"1")
    scene.send(draft, "b", b"1")
    acts: dict[str, Callable[[], object]] = {
        "read": lambda: scene.drafts.get(draft.id, EVE),
        "read a file": lambda: scene.files.staged_file(draft.id, EVE, "a"),
        "save": lambda: scene.drafts.save(draft.id, EVE, 0, (("title", "Eve's"),)),
        "send": lambda: scene.send(draft, "c", b"1", EVE),
        "remove": lambda: scene.files.remove(draft.id, EVE, "b"),
        "review": lambda: scene.drafts.reviewed(draft.id),
        "discard": lambda: scene.drafts.discard(draft.id, EVE),
    }
    done = []
    for name, act in acts.items():
        try:
            act()
        except UnknownError:
            continue
        done.append(name)
    listed: DraftPlace | None = None
    return done + [each.id for each in scene.drafts.unfinished(EVE, listed, 9)]


def test_the_draft_of_another_person_cannot_be_read_or_changed(tmp_path: Path) -> None:
    assert stolen(Scene(tmp_path)) == []


def test_the_check_of_owners_bites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene(tmp_path)

    def get(self: Drafts, id: str, owner: str) -> DepositDraft:  # noqa: A002
        del self, owner
        found = scene.small.catalogue.drafts.get(id)
        assert found is not None
        return found

    monkeypatch.setattr(Drafts, "get", get)
    assert set(stolen(scene)) >= {"read", "read a file", "save", "send", "remove", "discard"}


# --- script in texts and names --------------------------------------------------------------------


class Scripts(HTMLParser):
    """Finds what runs in a page: scripts, handlers, and addresses of scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Judge one tag."""
        given = {name: value or "" for name, value in attrs}
        is_ours = tag == "script" and given.get("src", "").startswith("/static/")
        if tag in {"script", "iframe", "object", "embed", "base", "svg:script"} and not is_ours:
            self.found.append(tag)
        self.found += [name for name in given if name.startswith("on")]
        self.found += [
            value
            for name, value in given.items()
            if name in {"href", "src", "action", "formaction", "srcdoc"}
            and value.strip().lower().startswith(("javascript:", "data:"))
        ]


def shown_script(scene: Scene) -> list[str]:
    """Return what runs on pages whose fields, file names and people are hostile."""
    found: list[str] = []
    for number, text in enumerate(VECTORS):
        owner = f"@{text}"
        fields = tuple((name, text) for name in sorted(KNOWN))
        draft = scene.drafts.open(owner, fields=fields)
        path = f"{number}/" + "".join(each for each in text if each not in '\\<>:"|?*/\r\n\t')
        with suppress(IbiError):  # some names no file may have
            scene.send(draft, path.rstrip(". "), b"<script>", owner)
        view = scene.reader.view(draft, typed=fields, fault_text=text)
        listed = DraftListView(drafts=[draft], published=[draft], key="0" * 32)
        for template, each in (
            ("draft.html", view),
            ("draft_files.html", view),
            ("draft_publication.html", view),
            ("draft_discard.html", view),
            ("drafts.html", listed),
            ("curate.html", listed),
            ("review.html", ReviewView(view=view, comment=text, fault_text=text)),
        ):
            judge = Scripts()
            judge.feed(scene.page(template, each))
            found += judge.found
    return found


def test_nothing_that_is_typed_runs_on_a_page(tmp_path: Path) -> None:
    assert shown_script(Scene(tmp_path)) == []


def test_the_escaping_bites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(*given: Any, **named: Any) -> Environment:  # noqa: ANN401
        return Environment(*given, **{**named, "autoescape": False})  # noqa: S701  # the twin

    monkeypatch.setattr(templates, "Environment", careless)
    assert len(shown_script(Scene(tmp_path))) > len(VECTORS)


# --- quotas ---------------------------------------------------------------------------------------


def hoarded(scene: Scene) -> int:
    """Return how many bytes of a person come to lie in drafts, whatever it tries."""
    for number in range(8):
        draft = scene.drafts.open(EVE)
        for path in ("whole", "half", "whole"):
            try:
                with scene.files.receive(draft.id, EVE, f"{number}/{path}", 0) as sink:
                    for _ in range(5):
                        sink.write(b"x" * 100)
                    if path == "half":
                        sink.suspend()
                    else:
                        sink.finish()
            except TooLargeError:
                pass
    folder = scene.small.folder / "incoming"
    places = (*folder.glob("*/files/**/*"), *folder.glob("*/parts/*"))
    return sum(each.stat().st_size for each in places if each.is_file())


def test_nobody_fills_the_disk_with_drafts(tmp_path: Path) -> None:
    assert 0 < hoarded(Scene(tmp_path, bytes_each=1600)) <= 1600


def test_the_quota_bites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Quota, "add", lambda *_: None)
    assert hoarded(Scene(tmp_path, bytes_each=1600)) > 1600
