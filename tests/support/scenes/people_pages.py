"""The pages of people with accounts at an archive and a resolver, for judges."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from tests.support.clients.browser import Browser
from tests.support.clients.page_crawler import FoundPage, crawl
from tests.support.doubles.archive import ArchiveDouble
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.resolver import ResolverServer
from tests.support.waiting import wait_until

CONTESTED: Final = "8JMKD3MGP7W/3EPGUHK"
ROGUE: Final = "8JMKD3MGP8W/34PHP47"
FIELDS: Final = [
    ["title", "Soil moisture <in> the Cerrado & beyond"],
    ["creator", "Vilela, Renata Campos"],
    ["year", "2026"],
    ["type", "Dataset"],
    ["abstract", "Measured each hour."],
]
_OF_DRAFT: Final = ("publish", "preview", "import", "discard", "files")
"""Pages of one draft."""
_OF_ITEM: Final = (
    "item",
    "describe",
    *(
        f"act/{act}"
        for act in (
            "edition",
            "translation",
            "files",
            "collection",
            "readers",
            "transfer",
            "delete",
        )
    ),
)
"""Pages of acts on one item."""
MAIL: Final = """\
From: Gerald <admin@example.org>
Subject: Cadastro de um novo Arquivo
Content-Type: text/plain; charset=utf-8

archiveserviceibi = 8JMKD3MGP8W/34PHP4E
registrationkey = 1234567890
"""


@dataclass(frozen=True, slots=True)
class PeoplePages:
    """An archive and a resolver with work to do, and an administrator who is signed in at both."""

    archive: ArchiveServer
    resolver: ResolverServer
    administrators: tuple[Browser, Browser]
    label: str
    drafts: tuple[str, ...]

    @property
    def cookies(self) -> dict[str, str]:
        """The Cookie headers of the administrators, by host and port."""
        return {
            urlsplit(each.address).netloc: "; ".join(
                f"{name}={value}" for name, value in each.cookies.items()
            )
            for each in self.administrators
        }

    @property
    def starts(self) -> list[str]:
        """The addresses that lead to all pages, also those that no page links to."""
        archive, resolver = self.archive.address, self.resolver.address
        return [
            *(f"{archive}/{path}" for path in ("account", "deposit", "curate", "admin")),
            *(f"{archive}/deposit/{draft}" for draft in self.drafts),
            *(f"{archive}/deposit/{self.drafts[0]}/{page}" for page in _OF_DRAFT),
            *(f"{archive}/deposit/{page}/{self.label}" for page in _OF_ITEM),
            f"{archive}/deposit/copies",
            f"{archive}/deposit/items?q=nothing",
            f"{archive}/sign-in",
            f"{archive}/password",
            f"{archive}/admin/tasks",
            f"{archive}/admin/no/such/page",
            f"{archive}/{self.label}:",
            *(f"{resolver}/{path}" for path in ("account", "admin", "admin/conflicts", "sign-in")),
        ]

    def of(self, language: str) -> list[FoundPage]:
        """Return all pages that need an account, some of each kind."""
        found = crawl(self.starts, language, cookies=self.cookies)
        return [page for page in found if 'rel="canonical"' not in page.text]

    def kinds(self, language: str) -> list[FoundPage]:
        """Return one page of each kind, and each draft."""
        kinds: dict[str, FoundPage] = {}
        for page in self.of(language):
            kinds.setdefault(page.url if page.url in self.starts else page.shape, page)
        return list(kinds.values())


@contextmanager
def people_pages(folder: Path) -> Iterator[PeoplePages]:
    """Run an archive with items and drafts, and a resolver with a conflict and a registration."""
    with ExitStack() as stack:
        archive = stack.enter_context(ArchiveServer(folder / "archive"))
        item = archive.deposit({"a.txt": b"a" * 1000, "data/b.csv": b"x,y\n1,2\n"})
        person = archive.signed_in("administrator", full_name="Ana <Lima> & Rui")
        for role in ("viewer", "depositor", "curator"):
            archive.signed_in(role, full_name=f"A {role}")
        archive.api("POST", "invitations", {"role": "curator"})
        drafts = tuple(_drafts(person))
        archive.api("POST", "audits", {})
        resolver = stack.enter_context(ResolverServer(folder / "resolver"))
        holder = stack.enter_context(ArchiveDouble())
        rogue = stack.enter_context(ArchiveDouble(service=ROGUE))
        for each in (holder, rogue):
            resolver.include(each)
            each.hold(CONTESTED)
        resolver.get(f"/{CONTESTED}?ibiurl.requireditemstatus=Original")
        wait_until(lambda: bool(resolver.api("GET", "conflicts").json()["conflicts"]))
        resolver.api("POST", "registrations/mail", MAIL.encode())
        operator = resolver.signed_in("administrator", full_name="Operadora")
        yield PeoplePages(archive, resolver, (person, operator), item["ibip"], drafts)


def _drafts(person: Browser) -> Iterator[str]:
    """Open drafts: whole, empty, with files of which one is half there, submitted, returned."""
    for name in ("whole", "empty", "files", "submitted", "returned"):
        wanted = {} if name == "empty" else {"fields": FIELDS}
        opened = person.api("POST", "drafts", wanted)
        assert opened.status == 201, opened.body
        draft = opened.json()["id"]
        place = f"drafts/{draft}"
        if name != "empty":
            person.api("PUT", f"{place}/files/data/table%20one.csv", b"x,y\n1,2\n")
        if name == "files":
            for number in range(30):
                person.api("PUT", f"{place}/files/run-{number}/a.txt", b"a" * number)
            person.api("PUT", f"{place}/files/half", b"12", Upload_Complete="?0")
        if name in {"submitted", "returned"}:
            assert person.api("POST", f"{place}/submission", {"version": 0}).status == 200
        if name == "returned":
            person.api("POST", f"review/{draft}/return", {"comment": "Where was it measured?"})
        yield draft
