"""All pages for people with accounts: of a depositor, a curator, and operators of both programs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from playwright.sync_api import BrowserContext

from tests.support.clients.browser import Browser
from tests.support.doubles.archive import ArchiveDouble
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.resolver import ResolverServer
from tests.support.waiting import wait_until

FILES: Final = 60
"""Files of the draft that has many: more than its page shows."""
_LONG: Final = "Umidade do solo na Caatinga sob regimes de manejo, em quatro municípios da Paraíba"
_FIELDS: Final = [
    *(["title", _LONG], ["creator", "Vilela, Renata Campos"], ["orcid", "0000-0002-1825-0097"]),
    *(["creator", "Holanda, Paulo"], ["year", "2026"], ["type", "Dataset"]),
    *(["licence", "CC-BY-4.0"], ["abstract", "Every hour, at four depths. " * 9]),
]
_FAULTY: Final = [["title", "Untidy"], ["year", "20226"], ["orcid", "1234"], ["date", "x"]]
_ARCHIVE_ADMIN: Final = (
    *("/admin", "/admin/figures", "/admin/tasks", "/admin/files", "/admin/resolvers"),
    *("/admin/minting", "/admin/identity", "/admin/audit-log", "/admin/accounts"),
    *("/admin/accounts/ana", "/account", "/deposit/copies"),
)
_RIVAL: Final = "8JMKD3MGP8W/34PHP47"
_CONTESTED: Final = "8JMKD3MGP7W/3EPGUHK"
_RESOLVER_ADMIN: Final = (
    *("/admin", "/admin/registrations", "/admin/conflicts", "/admin/figures"),
    *("/admin/audit-log", "/admin/accounts", "/admin/accounts/olga", "/account"),
    *("/admin/conflicts/1", f"/admin/decision?act=exclude&service={_RIVAL}"),
)
_OF_ITEM: Final = ("edition", "translation", "files", "collection", "readers")
_SERVICE: Final = "J8LNKB5R7W/3FUQHC9"


@dataclass(frozen=True, slots=True)
class AccountPage:
    """A page, the person that may see it, and its name in reports."""

    name: str
    person: Browser
    path: str

    @property
    def url(self) -> str:
        """The whole address."""
        return f"{self.person.address}{self.path}"

    def text(self, language: str) -> str:
        """Return the page in a language."""
        answer = self.person.get(self.path, Accept="text/html", Accept_Language=language)
        assert answer.status == 200, f"{self.name}: {answer.status}"
        return answer.body.decode()

    @property
    def cookie(self) -> str:
        """The header with the cookies of the person."""
        return "; ".join(f"{name}={value}" for name, value in self.person.cookies.items())

    def enter(self, context: BrowserContext) -> None:
        """Let a browser be signed in as the person."""
        context.clear_cookies()
        for name, value in self.person.cookies.items():
            context.add_cookies([{"name": name, "value": value, "url": self.person.address}])


@contextmanager
def account_pages(folder: Path) -> Iterator[list[AccountPage]]:
    """Run an archive with review and a resolver; yield all pages for people with accounts."""
    archive, resolver = ArchiveServer(folder), ResolverServer(folder)
    archive.set(review=True)
    with ExitStack() as stack:
        stack.enter_context(archive)
        stack.enter_context(resolver)
        claimants = [ArchiveDouble(), ArchiveDouble(service=_RIVAL)]
        for each in claimants:
            stack.enter_context(each)
            resolver.include(each)
            each.hold(_CONTESTED)
        resolver.get(f"/{_CONTESTED}?ibiurl.requireditemstatus=Original")
        wait_until(lambda: bool(resolver.api("GET", "conflicts").json()["conflicts"]))
        yield [*_of_archive(archive), *_of_resolver(resolver)]


def _of_archive(archive: ArchiveServer) -> Iterator[AccountPage]:
    ana = archive.signed_in("depositor", name="ana")
    carla = archive.signed_in("curator", name="carla")
    boss = archive.signed_in("administrator", name="boss")
    label = _published(ana, carla)
    empty, whole, faulty = _draft(ana, []), _draft(ana, _FIELDS, FILES), _draft(ana, _FAULTY, 2)
    ana.api("PUT", f"drafts/{whole}/files/0-half.bin", b"12", Upload_Complete="?0")
    returned = _draft(ana, _FIELDS, 2)
    ana.api("POST", f"drafts/{returned}/submission")
    carla.api("POST", f"review/{returned}/return", {"comment": "Which depths? " * 20})
    waiting = _draft(ana, _FIELDS, 3)
    ana.api("POST", f"drafts/{waiting}/submission")
    paths = {
        ana: [
            *("/deposit", f"/deposit/{empty}", f"/deposit/{whole}", f"/deposit/{whole}/files"),
            *(f"/deposit/{faulty}?check=1", f"/deposit/{returned}", f"/deposit/{waiting}"),
            *(f"/deposit/{empty}/import", f"/deposit/{returned}/preview"),
            *(f"/deposit/{returned}/publish", f"/deposit/{whole}/discard"),
            *("/deposit/items", f"/deposit/item/{label}", f"/deposit/describe/{label}"),
            *(f"/deposit/act/{act}/{label}" for act in _OF_ITEM),
        ],
        carla: ["/curate", f"/curate/{waiting}", f"/curate/{waiting}/files"],
        boss: [
            *_ARCHIVE_ADMIN,
            *(f"/deposit/act/{act}/{label}" for act in ("transfer", "delete")),
        ],
    }
    names = {empty: "empty", whole: "whole", faulty: "faulty", returned: "returned"}
    for person, found in paths.items():
        for path in found:
            name = path.replace(label, "label").replace(waiting, "waiting")
            for id_, word in names.items():
                name = name.replace(id_, word)
            yield AccountPage(f"archive {name}", person, path)


def _of_resolver(resolver: ResolverServer) -> Iterator[AccountPage]:
    olga = resolver.signed_in("administrator", name="olga")
    resolver.register(_SERVICE)
    for path in _RESOLVER_ADMIN:
        yield AccountPage(f"resolver {path}", olga, path)


def _draft(ana: Browser, fields: list[list[str]], files: int = 0) -> str:
    opened = ana.api("POST", "drafts", {"fields": fields})
    assert opened.status == 201, opened.body
    id_ = str(opened.json()["id"])
    for number in range(files):
        path = f"Medi%C3%A7%C3%B5es/esta%C3%A7%C3%A3o-{number:02}/umidade.csv"
        assert ana.api("PUT", f"drafts/{id_}/files/{path}", b"1,2\n").status == 201
    return id_


def _published(ana: Browser, carla: Browser) -> str:
    id_ = _draft(ana, _FIELDS, 2)
    ana.api("POST", f"drafts/{id_}/submission")
    done = carla.api("POST", f"review/{id_}/publication")
    assert done.status == 200, done.body
    return re.sub(r"\s.*", "", str(done.json()["rep"]))
