"""What readers get of a resolver: where it sends them, and what it says when it cannot."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

import pytest

from ibi.foundation.pages.templates import Page
from ibi.foundation.translation.language import translations
from ibi.identifier.verbs import COMPOSITIONS
from ibi.resolver.web.views import OUTCOME_TEXTS
from tests.resolver.web.test_pages import read, text_of
from tests.support.clients.http import PROBLEM, Answer
from tests.support.doubles.archive import ArchiveDouble
from tests.support.servers.attacked_resolver import (
    ELSEWHERE,
    attacked,
    label,
    made_at,
    service_of,
)
from tests.support.servers.resolver import ResolverServer

ITEM, GONE, CONTESTED, ONE, OTHER, FAMILY, UNKNOWN = map(label, range(1, 8))
NAMED: Final = "example.org/banon/2003/01.02.03.04"
ORIGINAL: Final = "?ibiurl.requireditemstatus=Original"
HTML: Final = "text/html,application/xhtml+xml,*/*;q=0.8"
LANGUAGES: Final = pytest.mark.parametrize("language", ["en", "pt"])


@dataclass(frozen=True)
class World:
    """A resolver, two archives that answer, and a resolver whose only archive does not."""

    resolver: ResolverServer
    first: ArchiveDouble
    second: ArchiveDouble
    unsure: ResolverServer

    def get(self, path: str, **headers: str) -> Answer:
        """Read as a browser does, or a program."""
        return self.resolver.get(path, **headers)

    def location(self, path: str, **headers: str) -> str:
        """Return where a reader is sent, by a path of the archive."""
        answer = self.get(path, **headers)
        assert answer.status == 302, answer.body
        return answer.headers["location"].removeprefix(f"http://{self.first.address}")

    def outcome(self, name: str, **headers: str) -> Answer:
        """Ask for what ends in a certain way."""
        resolver = self.unsure if name == "unsure" else self.resolver
        return resolver.get(OUTCOMES[name][1], **headers)


OUTCOMES: Final = {
    "not-found": (404, f"/{UNKNOWN}"),
    "unserved": (404, f"/{ITEM}+(fr)"),
    "formats": (406, f"/{ITEM}:(marc)"),
    "gone": (410, f"/{GONE}"),
    "conflict": (409, f"/{CONTESTED}{ORIGINAL}"),
    "unsure": (503, f"/{UNKNOWN}"),
    "loop": (508, f"/{ONE}!"),
}
REFUSED: Final = {
    "order": (400, f"/{ITEM}:!"),
    "label": (400, "/nothing-of-ours"),
    "too long": (414, f"/{ITEM}/{'x' * 9000}"),
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with (
        ArchiveDouble(service_of(0)) as first,
        ArchiveDouble(service_of(1)) as second,
        ArchiveDouble(service_of(2)) as third,
        attacked(tmp_path_factory.mktemp("resolver")) as resolver,
        attacked(tmp_path_factory.mktemp("unsure")) as unsure,
    ):
        for archive in (first, second):
            resolver.include(archive)
            archive.hold(CONTESTED)
        unsure.include(third)
        third.behaviour = "unavailable"
        furnish(first)
        yield World(resolver, first, second, unsure)


def furnish(archive: ArchiveDouble) -> None:
    """Give an archive all that the tests ask for."""
    for held in (ITEM, NAMED):
        archive.hold(held, url=f"http://{archive.address}/col/{held}/a.html")
    archive.items[NAMED]["ibi"] = f"rep {NAMED}"
    archive.items[GONE] = {
        "ibi": f"ibip {GONE}",
        "state": "Deleted",
        "timestamp": "2020-02-03T04:05:06Z",
    }
    for here, there in ((ONE, OTHER), (OTHER, ONE)):
        archive.items[here] = {"ibi": f"ibip {here}", "ibi.nextedition": f"ibip {there}"}
    archive.hold(FAMILY, **metadata(archive, FAMILY), **translations_of(archive, FAMILY))


def metadata(archive: ArchiveDouble, of: str) -> dict[str, str]:
    return {
        "ibi.metadata": "rep example.org/banon/2003/01.02.03.05",
        "url.metadata": f"http://{archive.address}/col/{of}/metadata",
        "contenttype.metadata": "Metadata",
        "state.metadata": "Original",
    }


def translations_of(archive: ArchiveDouble, of: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for day, language in enumerate(("en", "fr", "pt"), 1):
        # The item itself is in English.
        forms = f"ibip {of}" if language == "en" else f"rep example.org/x/2003/02.0{day}.00.00"
        pairs |= {
            f"ibi.translation({language})": forms,
            f"url.translation({language})": f"http://{archive.address}/{language}",
            f"contenttype.translation({language})": "Data",
            f"state.translation({language})": "Original",
        }
    return pairs


# Redirections


def test_a_redirection_says_where_to_and_what_to_cite(world: World) -> None:
    answer = world.get(f"/{ITEM}")
    assert (answer.status, answer.body) == (302, b"")
    assert answer.headers["location"] == f"http://{world.first.address}/col/{ITEM}/a.html"
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.headers["link"] == f'<{world.resolver.address}/{ITEM}>; rel="cite-as"'
    assert answer.headers["vary"] == "Accept"


@pytest.mark.parametrize(
    ("item", "asked"),
    [
        (ITEM, (ITEM.lower(), ITEM, f"rep/{ITEM.lower()}")),
        (FAMILY, (f"{FAMILY.lower()}:", f"{FAMILY}:")),
        (NAMED, (NAMED.upper(), NAMED, f"ibi/{NAMED.upper()}")),
    ],
)
def test_the_url_to_cite_is_canonical_whatever_spelling_is_asked_for_first(
    tmp_path: Path, item: str, asked: tuple[str, ...]
) -> None:
    with ArchiveDouble(service_of(0)) as archive, attacked(tmp_path) as resolver:
        resolver.include(archive)
        furnish(archive)
        for spelling in (item.lower(), item.upper()):  # a real archive knows all spellings
            archive.items[spelling] = archive.items[item]
        verb = ":" if asked[0].endswith(":") else ""
        cited = f'<{resolver.address}/{item}{verb}>; rel="cite-as"'
        assert [resolver.get(f"/{each}").headers["link"] for each in asked] == [cited] * len(asked)


def test_caches_are_told_where_the_language_matters(world: World) -> None:
    for path in (f"/{FAMILY}+", f"/{FAMILY}?ibiurl.verblist=GetTranslation"):
        assert world.get(path).headers["vary"] == "Accept, Accept-Language"
    for path in (f"/{FAMILY}", f"/{FAMILY}+(pt)", f"/{FAMILY}:"):
        assert world.get(path, Accept_Language="pt").status == 302
        assert world.get(path, Accept_Language="pt").headers["vary"] == "Accept"


@pytest.mark.parametrize(
    ("languages", "sent"),
    [("pt-BR,fr;q=0.8", "pt"), ("fr", "fr"), ("de, fr;q=0.1", "fr"), ("de", "en"), ("", "en")],
)
def test_a_translation_is_of_the_language_that_the_reader_prefers(
    world: World, languages: str, sent: str
) -> None:
    assert world.location(f"/{FAMILY}+", Accept_Language=languages) == f"/{sent}"


def test_the_language_of_the_url_goes_before_that_of_the_browser(world: World) -> None:
    asked = f"/{FAMILY}+?ibiurl.language=fr"
    assert world.location(asked, Accept_Language="pt") == "/fr"
    # A language that nobody knows is no reason to refuse a link.
    assert world.location(f"/{FAMILY}+?ibiurl.language=xx", Accept_Language="pt").startswith("/pt")


def test_pairs_of_the_item_are_passed_on_and_those_of_the_system_are_not(world: World) -> None:
    ours = "ibiurl.language=pt&ibiurl.requireditemstatus=Original&ibiurl.verblist="
    theirs = (
        "ibiurl.requiredsite=x.example&ibiurl.backgroundlanguage=en"
        "&ibiurl.clientinformation.citingitem=LK47B6W/362SFKH&page=7&title=%C3%A9%20%26"
    )
    assert world.location(f"/{ITEM}?{ours}&{theirs}") == f"/col/{ITEM}/a.html?{theirs}"


@pytest.mark.parametrize("form", ["/{}", "/ibi/{}", "/rep/{}"])
@pytest.mark.parametrize("held", [ITEM, NAMED])
def test_old_links_lead_to_the_same(world: World, form: str, held: str) -> None:
    answer = world.get(form.format(held))
    assert answer.headers["location"] == f"http://{world.first.address}/col/{held}/a.html"
    assert f"<{world.resolver.address}/{held}>" in answer.headers["link"]


def test_two_question_marks_ask_for_metadata(world: World) -> None:
    for form in (f"/{FAMILY}??", f"/{FAMILY}:", f"/{FAMILY}?ibiurl.verblist=GetMetadata"):
        assert world.location(form) == f"/col/{FAMILY}/metadata"


@pytest.mark.parametrize(
    ("tail", "verbs", "path"),
    [
        ("/reference.bib", "", "/reference.bib"),
        (":/reference.bib", "GetMetadata", "/reference.bib"),
        ("!+(pt):(oai_dc)/a/b.txt", "GetLastEdition GetTranslation(pt) GetMetadata(oai_dc)",
         "/a/b.txt"),
        ("/Relat%f3rio.pdf", "", "/Relatório.pdf"),
        ("/Relat%C3%B3rio.pdf", "", "/Relatório.pdf"),
        ("+?ibiurl.verblist=GetMetadata", "GetTranslation GetMetadata", ""),
        ("!:?ibiurl.verblist=GetLastEdition+GetMetadata", "GetLastEdition GetMetadata", ""),
        ("?ibiurl.verblist=GetFileList+GetLastEdition", "GetLastEdition GetFileList", ""),
        ("%21?ibiurl.verblist=GetFileList", "GetLastEdition GetFileList", ""),
    ],
)  # fmt: skip
def test_what_follows_the_label_is_told_to_archives(
    world: World, tail: str, verbs: str, path: str
) -> None:
    fresh = made_at(ELSEWHERE, zlib.crc32(tail.encode()) % 1_000_000)
    world.get(f"/{fresh}{tail}")
    [asked] = [query for query in world.second.queries if query.get("parsedibiurl.ibi") == fresh]
    assert asked.get("parsedibiurl.verblist", "") == verbs
    assert asked.get("parsedibiurl.filepath", "") == path


def test_head_is_get_without_an_access(world: World) -> None:
    seen, read_ = label(20), label(21)
    world.first.hold(seen)
    world.first.hold(read_)
    head = world.resolver.ask("HEAD", f"/{seen}", token="")
    get = world.get(f"/{read_}")
    assert (head.status, head.body) == (302, b"")
    assert {**head.headers, "date": ""} == {
        name: value.replace(read_, seen) for name, value in {**get.headers, "date": ""}.items()
    }
    world.first.asked(lambda: any(read_ in each["ibi"] for each in world.first.acknowledged))
    assert not [each for each in world.first.queries if seen in each.get("url.persistent", "")]


@pytest.mark.parametrize("name", OUTCOMES)
def test_head_of_what_leads_nowhere_has_the_same_headers(world: World, name: str) -> None:
    status, path = OUTCOMES[name]
    resolver = world.unsure if name == "unsure" else world.resolver
    head = resolver.ask("HEAD", path, token="", headers={"Accept": HTML})
    get = world.outcome(name, Accept=HTML)
    assert (head.status, head.body) == (status, b"")
    assert {**head.headers, "date": ""} == {**get.headers, "date": ""}


# What leads nowhere


def words(name: str, language: str) -> tuple[str, str]:
    """Return the heading and the advice of an outcome."""
    told = OUTCOME_TEXTS["unserved" if name == "formats" else name]
    known = translations(language)
    return known.gettext(told.heading), known.gettext(told.advice)


def page_of(answer: Answer) -> Page:
    """Check that an answer is a page, by the rules of HTML and by its own policy."""
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    page = Page(answer.body.decode(), answer.headers["content-language"])
    read(page)
    assert page.html.count("<script") == 1
    assert "javascript:" not in page.html
    return page


@LANGUAGES
@pytest.mark.parametrize("name", OUTCOMES)
def test_people_get_a_page_in_their_language(world: World, name: str, language: str) -> None:
    status, _ = OUTCOMES[name]
    answer = world.outcome(name, Accept=HTML, Accept_Language=f"{language},x;q=0.1")
    assert answer.status == status
    page = page_of(answer)
    assert page.language == language
    heading, advice = words(name, language)
    assert heading in text_of(page)
    assert advice in text_of(page)
    assert answer.headers["vary"] == "Accept-Language, Accept, Cookie, Accept-Encoding"
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("pair", ["lang", "ibiurl.language"])
def test_the_language_of_a_page_may_be_chosen(world: World, pair: str) -> None:
    for language, other in (("en", "pt"), ("pt", "en")):
        asked = f"/{UNKNOWN}?{pair}={language}"
        answer = world.get(asked, Accept=HTML, Accept_Language=other)
        assert page_of(answer).language == language
        # As the links of the page do it.
        [link] = re.findall(rf'hreflang="{other}" href="([^"]*)"', answer.body.decode())
        path = link.removeprefix(world.resolver.address).replace("&amp;", "&")
        assert page_of(world.get(path, Accept=HTML)).language == other


@pytest.mark.parametrize("name", OUTCOMES)
def test_programs_get_a_problem_document(world: World, name: str) -> None:
    status, path = OUTCOMES[name]
    for accept in ("*/*", "application/json", PROBLEM):
        answer = world.outcome(name, Accept=accept)
        assert answer.status == status
        assert answer.headers["content-type"] == PROBLEM
        problem = answer.json()
        kind = "unserved" if name == "formats" else name
        assert problem["type"] == f"urn:ibi:problem:{kind}"
        assert problem["title"] == words(name, "en")[0]
        assert problem["status"] == status
        assert words(name, "en")[1] in problem["detail"]
        assert problem["asked"] == path[1:]


@LANGUAGES
@pytest.mark.parametrize("name", OUTCOMES)
def test_terminals_get_plain_text(world: World, name: str, language: str) -> None:
    status, path = OUTCOMES[name]
    answer = world.outcome(name, Accept="text/plain", Accept_Language=language)
    assert answer.status == status
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    heading, advice = words(name, language)
    lines = answer.body.decode().splitlines()
    assert lines[0] == f"{heading}: {path[1:]}"
    assert len(lines) == 3
    assert advice in lines[2]


@pytest.mark.parametrize("accept", [HTML, "*/*", "text/plain"])
def test_who_is_concerned_is_named(world: World, accept: str) -> None:
    for name, named in {
        "unserved": [world.first.service],
        "gone": [world.first.service],
        "conflict": [world.first.service, world.second.service],
        "unsure": [service_of(2)],
        "loop": [ONE, OTHER],
    }.items():
        body = world.outcome(name, Accept=accept).body.decode().replace("<wbr>", "")
        assert all(each in body for each in named), name


@pytest.mark.parametrize("accept", [HTML, "*/*", "text/plain"])
def test_whoever_wants_another_format_gets_the_list(world: World, accept: str) -> None:
    answer = world.outcome("formats", Accept=accept)
    assert answer.status == 406
    assert "oai_dc" in answer.body.decode()


@pytest.mark.parametrize("accept", [HTML, "*/*", "text/plain"])
def test_who_may_come_again_is_told_when(world: World, accept: str) -> None:
    assert world.outcome("unsure", Accept=accept).headers["retry-after"] == "5"
    for name in OUTCOMES.keys() - {"unsure"}:
        assert "retry-after" not in world.outcome(name, Accept=accept).headers
    assert world.outcome("unsure").json()["retry_after"] == 5


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_refused_in_every_form(world: World, name: str) -> None:
    status, path = REFUSED[name]
    for language in ("en", "pt"):
        answer = world.get(path, Accept=HTML, Accept_Language=language)
        assert answer.status == status
        assert page_of(answer).language == language
    answer = world.get(path)
    assert (answer.status, answer.json()["status"]) == (status, status)
    plain = world.get(path, Accept="text/plain")
    assert plain.status == status
    assert plain.headers["content-type"] == "text/plain; charset=utf-8"
    assert plain.body.decode() == f"{answer.json()['title']}\n{answer.json()['detail']}\n"


@pytest.mark.parametrize("modifiers", ["!!", "::", "+!+", ":!", "+:!", ":+!", "+(pt)+(fr)"])
def test_an_order_that_does_not_exist_is_refused_with_those_that_do(
    world: World, modifiers: str
) -> None:
    problem = world.get(f"/{ITEM}{modifiers}").json()
    assert problem["status"] == 400
    assert f"expected one of {' '.join(COMPOSITIONS)}" in problem["detail"]


@pytest.mark.parametrize(
    ("tail", "right"),
    [
        ("?ibiurl.verblist=GetNothing", "GetTranslation, GetLastEdition, GetMetadata or GetFile"),
        ("?ibiurl.verblist=GetMetadata,GetFileList", "expected"),
        ("+(xx)", "a language of ISO 639-1"),
        ("+(pt-ZZ)", "a country of ISO 3166-1"),
        ("?ibiurl.requireditemstatus=Copy", "expected Original"),
        (":(%20)", "expected"),
        ("x", "expected"),
        ("/%00", "no file has such a name"),
        ("!/a%09b", "no file has such a name"),
        ("/%7f", "no file has such a name"),
    ],
)
def test_what_is_wrong_is_told_with_what_would_be_right(
    world: World, tail: str, right: str
) -> None:
    answer = world.get(f"/{ITEM}{tail}")
    assert answer.status == 400, answer.body
    assert right in answer.json()["detail"]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_readers_change_nothing(world: World, method: str) -> None:
    for path in (f"/{ITEM}", "/", "/archives", "/explain?url=x", "/doi/10.1000/182"):
        answer = world.resolver.ask(method, path, token="")
        assert answer.status == 405
        assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD"}


# Other systems


@pytest.mark.parametrize(
    ("path", "location", "name"),
    [
        ("/doi/10.1000/182", "https://doi.org/10.1000/182", "10.1000/182"),
        ("/doi:10.1000/182?x=1", "https://doi.org/10.1000/182?x=1", "10.1000/182"),
        ("/hdl/20.1000/100", "https://hdl.handle.net/20.1000/100", "20.1000/100"),
        (
            "/ark:/12148/btv1b8449691v",
            "https://n2t.net/ark:12148/btv1b8449691v",
            "12148/btv1b8449691v",
        ),
        (
            "/ark:12148/btv1b8449691v",
            "https://n2t.net/ark:12148/btv1b8449691v",
            "12148/btv1b8449691v",
        ),
        (
            "/urn:nbn:de:101:1-20",
            "https://nbn-resolving.org/urn:nbn:de:101:1-20",
            "nbn:de:101:1-20",
        ),
    ],
)
def test_identifiers_of_other_systems_are_sent_on(
    world: World, path: str, location: str, name: str
) -> None:
    answer = world.get(path)
    assert (answer.status, answer.headers["location"]) == (302, location)
    assert not [each for each in world.first.queries if name in str(each)]


@pytest.mark.parametrize("path", ["/doi/x", "/hdl/", "/ark:/1", "/urn:x"])
def test_what_no_system_has_is_not_sent_on(world: World, path: str) -> None:
    assert world.get(path).status == 400
    assert "This cannot be sent on" in world.get(path).json()["detail"]


def test_a_gateway_may_be_closed_or_lead_elsewhere(tmp_path: Path) -> None:
    resolver = ResolverServer(tmp_path)
    with (resolver.data / "resolver.toml").open("a", encoding="utf-8") as file:
        file.write('[gateways]\ndoi = ""\nhdl = "https://hdl.example.org/go/"\n')
    with resolver:
        assert resolver.get("/doi/10.1000/182").status == 400
        moved = resolver.get("/hdl/20.1000/100")
        assert moved.headers["location"] == "https://hdl.example.org/go/20.1000/100"
        assert resolver.get("/ark:/12148/x").status == 302


# Own pages


PASTED: Final = {
    "": ("Find an item", "Buscar um item"),
    ITEM: ("This is a label", "é um rótulo"),
    f"{ITEM}!:(oai_dc)": ("GetLastEdition+GetMetadata(oai_dc)",) * 2,
    f"  <http://urlib.net/{ITEM}>. ": ("Cleaned up", ""),
    "https://doi.org/10.1000/182": ("another system: DOI", "DOI"),
    "https://www.example.org/": ("This is an address on the Web", ""),
    "Banon, G. 2011": ("This is no identifier that can be read", ""),
    f"Banon (2011) <http://x.example/{ITEM}/y z>": (ITEM, ITEM),
    '"><script>alert(1)</script>': ("This is no identifier", ""),
}


@pytest.mark.parametrize("text", PASTED)
def test_the_home_page_says_what_was_pasted(world: World, text: str) -> None:
    for language, expected in zip(("en", "pt"), PASTED[text], strict=True):
        query = f"?q={quote(text, safe='')}&lang={language}" if text else f"?lang={language}"
        answer = world.get(f"/{query}", Accept=HTML)
        assert answer.status == 200
        page = page_of(answer)
        assert page.language == language
        assert expected in text_of(page)


def test_the_archives_are_listed_with_how_they_stand(world: World) -> None:
    text = text_of(page_of(world.get("/archives", Accept_Language="en")))
    for archive in (world.first, world.second):
        assert archive.service in text
        assert archive.address in text
    assert "In service" in text
    assert "admin@example.org" not in text
    assert text_of(page_of(world.get("/archives", Accept_Language="pt"))) != text


def test_a_page_explains_who_was_asked_and_what_each_said(world: World) -> None:
    for path in (ITEM, f"{ONE}!", UNKNOWN, GONE, f"{CONTESTED}{ORIGINAL}"):
        for language in ("en", "pt"):
            answer = world.get(f"/explain?url={quote(path, safe='')}&lang={language}")
            assert answer.status == 200
            page = page_of(answer)
            assert page.language == language
            assert world.first.service in text_of(page)
            assert world.second.service in text_of(page)
            assert "1424636122-" not in page.html


def test_every_link_of_the_pages_leads_somewhere(world: World) -> None:
    pages = ["/", f"/?q={ITEM}", "/archives", f"/explain?url={ITEM}", *(
        path for name, (_, path) in OUTCOMES.items() if name != "unsure"
    )]  # fmt: skip
    for start in pages:
        for href in set(
            re.findall(r'href="([^"#]*)"', world.get(start, Accept=HTML).body.decode())
        ):
            path = href.replace("&amp;", "&").removeprefix(world.resolver.address)
            if path.startswith("/"):
                assert world.get(path, Accept=HTML).status not in {400, 414, 500}, (start, path)


def test_robots_are_kept_from_what_is_asked_of_all(world: World) -> None:
    answer = world.get("/robots.txt")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.body.decode().splitlines() == [
        "User-agent: *",
        "Disallow: /api/",
        "Disallow: /explain",
        "Disallow: /search",
    ]


# For programs


def test_a_program_may_ask_where_a_url_leads_and_is_no_access(world: World) -> None:
    held = label(22)
    world.first.hold(held)
    asked = quote(f"{held}?page=7&ibiurl.requireditemstatus=Original", safe="")
    found = world.resolver.get(f"/api/v1/resolve?url={asked}").json()
    assert found == {
        "asked": f"{held}?ibiurl.requireditemstatus=Original",
        "outcome": "redirect",
        "because": "The reader is sent to the address that the chosen archive gave.",
        "location": f"http://{world.first.address}/col/{held}/a.html?page=7",
    }
    read_ = label(23)
    world.first.hold(read_)
    assert world.get(f"/{read_}").status == 302
    world.first.asked(lambda: any(read_ in each["ibi"] for each in world.first.acknowledged))
    assert not [each for each in world.first.queries if held in each.get("url.persistent", "")]


def test_a_program_may_choose_the_language(world: World) -> None:
    for language in ("fr", "pt"):
        asked = f"/api/v1/resolve?url={FAMILY}%2B&language={language}"
        assert world.get(asked).json()["location"].endswith(f"/{language}")
        assert (
            world.get(f"/api/v1/resolve?url={FAMILY}%2B", Accept_Language=language)
            .json()["location"]
            .endswith(f"/{language}")
        )


@pytest.mark.parametrize("name", OUTCOMES)
def test_a_program_that_asks_gets_the_same_problem(world: World, name: str) -> None:
    status, path = OUTCOMES[name]
    resolver = world.unsure if name == "unsure" else world.resolver
    answer = resolver.get(f"/api/v1/resolve?url={quote(path[1:], safe='')}", Accept=HTML)
    assert answer.status == status
    assert in_any_order(answer) == in_any_order(world.outcome(name))


def in_any_order(answer: Answer) -> dict[str, object]:
    """Return a problem; archives are named as they happened to answer."""
    problem = answer.json()
    return {**problem, "archives": sorted(problem.get("archives", []))}


def test_an_explanation_has_every_archive_and_no_key(world: World) -> None:
    found = world.get(f"/api/v1/explain?url={ONE}!").json()
    assert found["outcome"] == "loop"
    assert found["chain"] == [ONE, OTHER, ONE]
    assert [step["label"] for step in found["steps"]] == [ONE, OTHER]
    for step in found["steps"]:
        assert {each["archive"] for each in step["asked"]} == {
            world.first.service,
            world.second.service,
        }
        assert step["verbs"] == ["GetLastEdition"]
    plain = world.get(f"/api/v1/explain?url={ITEM}")
    assert b"1424636122-" not in plain.body
    [step] = plain.json()["steps"]
    assert [each["said"] for each in step["asked"] if each["chosen"]] == ["original"]
    for path in ("/api/v1/explain", "/api/v1/resolve", "/api/v1/explain?url="):
        assert "url is missing" in world.get(path).json()["detail"]
