"""The pages of a resolver: two languages, valid, and nothing foreign in them but text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial

import msgspec
import pytest
from lxml import etree, html

from ibi.foundation.pages.identity import SiteIdentity
from ibi.foundation.pages.links import ResolverLinks
from ibi.foundation.pages.static_files import FILES, SCRIPT, SCRIPT_CHECKSUM, versioned
from ibi.foundation.pages.templates import Page, ProblemView
from ibi.foundation.translation.language import page_language, preference_of, translations
from ibi.identifier.description import describe
from ibi.identifier.instant import Instant
from ibi.identifier.label import parse
from ibi.identifier.language_preference import LanguagePreference
from ibi.model.archive_record import RegistrationKey
from ibi.model.registration import ArchiveState, Origin, RegisteredArchive
from ibi.resolver.ports.store import Challenge
from ibi.resolver.rules.archive_documents import FoundItem, FoundItems, Tombstone
from ibi.resolver.web.explanation import Asked, Explanation, Said, as_text
from ibi.resolver.web.explanation_builder import explain
from ibi.resolver.web.pages import ResolverPages
from ibi.resolver.web.pasted_text import Kind, PastedText, what_is
from ibi.resolver.web.search_views import (
    ListedArchive,
    NamedArchive,
    SearchedArchive,
    SearchedArchives,
    SearchView,
)
from ibi.resolver.web.views import (
    EXAMPLES,
    OUTCOME_TEXTS,
    REASONS,
    ArchivesView,
    ChallengeView,
    DeletedItem,
    ExplainView,
    FilledForm,
    KeyView,
    OutcomeView,
    RegisterView,
    ResolverHomeView,
    counted,
    translated_reason,
)
from tests.support.values.resolutions import (
    ARCHIVES,
    FIRST,
    ITEM,
    LATER,
    NOVEMBER,
    SECOND,
    THIRD,
    all_outcomes,
    archive,
)

BASE = "https://resolver.example"
RESOLVER = "J8LNKB5R7W/3FUQHC5"
"""The label of the resolver service, as archives know it."""
PAGES = ResolverPages(SiteIdentity(name="Resolvedor de Teste"), BASE)
ENGLISH, PORTUGUESE = preference_of("en"), preference_of("pt-BR")
NOW = Instant(1_700_000_000)
HARMLESS = "duas palavras"
DESCRIPTION = describe(ITEM, now=NOW)
LANGUAGES = pytest.mark.parametrize("preference", [ENGLISH, PORTUGUESE], ids=["en", "pt"])


def explained(name: str) -> Explanation:
    return explain(all_outcomes()[name], ARCHIVES.get)


def outcome(name: str, retry_after: int = 0) -> OutcomeView:
    return OutcomeView(
        explanation=explained(name), description=DESCRIPTION, retry_after=retry_after
    )


def with_word(name: str, word: str) -> Explanation:
    """Return an explanation with a word in every place where text may come in."""
    kinds: tuple[Said, ...] = ("original", "copy", "has-it", "deleted", "no", "silent")
    asked = tuple(
        Asked(
            archive=word,
            name=word if number else "",
            address=word,
            said=said,
            detail=word,
            fault=word,
            next=word if number else "",
            is_owner=True,
            is_home=True,
            is_likely=True,
            chosen=True,
        )
        for number in (0, 1)
        for said in kinds
    )
    explanation = explained(name)
    last = msgspec.structs.replace(
        explanation.last, question=word, label=word, asked=asked, next=word
    )
    return msgspec.structs.replace(
        explanation,
        asked=word,
        label=word,
        location=word,
        chain=(word, word),
        steps=(*explanation.steps, last),
    )


def registered(word: str) -> tuple[RegisteredArchive, ...]:
    pending = archive(SECOND, word, confirmed=0, administrator=word)
    off = archive(LATER, word, inclusion=None)
    return (*ARCHIVES.values(), archive(FIRST, word), pending, off)


def searched(word: str, number: int) -> SearchedArchives:
    """Return results with a word in every place where text may come in."""
    item = FoundItem(parse(ITEM), word, (word, word), word[:4], word)
    bare = FoundItem(parse(ITEM))
    named = NamedArchive(service=word, address="a.example:81", name=word)
    unknown = NamedArchive(service=word, address=word)
    found = FoundItems(3 * number, is_cut=True, items=(item, bare))
    return SearchedArchives(
        words=word,
        count=3 * number,
        found=(SearchedArchive(archive=named, found=found, page=""),) * number,
        without=(unknown, named) * number,
        silent=((unknown, word), (named, "it is down")) * number,
        not_asked=number,
    )


def deleted(word: str) -> DeletedItem:
    """Return what an archive says of a deleted item, with a word in every text."""
    replacement = parse(LATER)
    return DeletedItem(
        label=parse(ITEM),
        archive=NamedArchive(service=word, address="a.example", name=word),
        tombstone=Tombstone(word, "", word, word, replacement, replacement),
        address=f"http://a.example/{ITEM}",
    )


def with_path(pasted: PastedText, word: str) -> PastedText:
    assert pasted.wanted is not None
    return replace(pasted, wanted=replace(pasted.wanted, path=f"/{word}"))


@cache
def pages_of(name: str) -> ResolverPages:
    return ResolverPages(SiteIdentity(name=name), BASE)


KEY = RegistrationKey("123456789012345678901234567890123456789")
GIVEN: tuple[Origin, ...] = ("operator", "domain")
STATUSES = (400, 401, 403, 404, 422, 429, 503, 507)


def key_view(word: str, origin: Origin = "operator", service: str = RESOLVER) -> KeyView:
    registered = archive(FIRST, word, administrator=word, origin=origin)
    return KeyView(archive=registered, key=KEY, resolver=word, resolver_service=parse(service))


def registering(word: str) -> Iterator[tuple[str, Callable[[ResolverPages], Page]]]:
    """Yield the pages on which archives are registered, in all shapes."""
    here = f"/register?lang={word}"
    for preference, origin, host in (
        (ENGLISH, "operator", "127.0.0.1:80"),
        (PORTUGUESE, "domain", word),
    ):
        closed = RegisterView(is_open=False)
        yield f"register, not as {origin}", partial(_register, closed, preference, here)
        for status in STATUSES:
            fault = ProblemView(status=status, title=word, detail=word, retry_after=status % 2 * 9)
            filled = FilledForm(service=word, administrator=word)
            form = RegisterView(is_open=True, filled=filled, fault=fault)
            yield f"register as {origin}, {status}", partial(_register, form, preference, here)
            challenge = Challenge("", word, host, word, NOVEMBER, NOVEMBER)
            shown = ChallengeView(token=word, challenge=challenge, fault=fault)
            yield f"challenge to {origin}, {status}", partial(_proof, shown, preference, here)
        unread = ChallengeView(token=word, challenge=None)
        yield f"unread challenge to {origin}", partial(_proof, unread, preference, here)
        for given in GIVEN:
            view = key_view(word, given)
            yield f"key by {given} for {origin}", partial(_key, view, preference, here)


def _register(
    view: RegisterView, preference: LanguagePreference, here: str, pages: ResolverPages
) -> Page:
    return pages.register(view, preference, here)


def _proof(
    view: ChallengeView, preference: LanguagePreference, here: str, pages: ResolverPages
) -> Page:
    return pages.challenge(view, preference, here)


def _key(view: KeyView, preference: LanguagePreference, here: str, pages: ResolverPages) -> Page:
    return pages.key(view, preference, here)


@cache
def several(word: str = HARMLESS) -> dict[str, Callable[[ResolverPages], Page]]:
    """Return all pages, in all shapes, with a word where foreign text comes in."""
    here = f"/8JMKD3MGP7W/3EPGUE5/{word}?x={word}&lang={word}"
    given: dict[str, PastedText] = {
        "label": replace(what_is(f"http://r.example/{ITEM}. ", NOW), given=word),
        "future label": what_is(ITEM, Instant(0)),
        "persistent url": with_path(what_is(f"{ITEM}!/x", NOW), word),
        "name": what_is("sid.inpe.br/mtc-m19@80/2013/09.04.12.27.57", NOW),
        "gateway": replace(what_is("doi:10.1000/182", NOW), given=word),
        "web address": PastedText(word, Kind.WEB_ADDRESS, suggestions=(word,)),
        "nonsense": PastedText(word, Kind.UNKNOWN, suggestions=(word, word), fault=word),
        "nothing": what_is("", NOW),
    }
    views: dict[str, Callable[[ResolverPages], Page]] = {
        "home": lambda pages: pages.home(ResolverHomeView(), ENGLISH, "/"),
        "no archives": lambda pages: pages.archives(
            ArchivesView(archives=(), now=NOVEMBER), PORTUGUESE, "/archives"
        ),
        "archives": lambda pages: pages.archives(
            ArchivesView(archives=registered(word), now=NOVEMBER, open_conflicts=2), ENGLISH, here
        ),
        "hostile explanation": lambda pages: pages.explain(
            ExplainView(explanation=with_word("loop", word), description=DESCRIPTION),
            PORTUGUESE,
            f"/explain?url={word}",
        ),
    }
    for name, pasted in given.items():
        listed = ListedArchive(
            archive=NamedArchive(service=word, address=word, name=word), labels=3, is_down=True
        )
        home = ResolverHomeView(
            archives=counted(registered(word)), listed=(listed, listed), pasted=pasted
        )
        views[f"home with {name}"] = lambda pages, view=home: pages.home(  # type: ignore[misc]  # mypy infers no lambda with a default
            view, PORTUGUESE, f"/?q={word}&lang=pt"
        )
        found = SearchView(pasted=pasted)
        views[f"search with {name}"] = lambda pages, view=found: pages.search(  # type: ignore[misc]  # likewise
            view, ENGLISH, f"/search?q={word}"
        )
    for number in range(3):
        results = SearchView(pasted=given["nonsense"], results=searched(word, number))
        views[f"search {number}"] = lambda pages, view=results: pages.search(  # type: ignore[misc]  # likewise
            view, PORTUGUESE, f"/search?q={word}"
        )
    for name in all_outcomes():
        shown = ExplainView(explanation=explained(name), description=DESCRIPTION)
        views[f"explain {name}"] = lambda pages, view=shown: pages.explain(view, PORTUGUESE, here)  # type: ignore[misc]  # likewise
        plain = outcome(name, retry_after=len(name) % 2)
        views[name] = lambda pages, view=plain: pages.outcome(view, ENGLISH, here)  # type: ignore[misc]  # likewise
        foreign = replace(
            plain, explanation=with_word(name, word), meant=(word,), deleted=deleted(word)
        )
        views[f"hostile {name}"] = lambda pages, view=foreign: pages.outcome(view, PORTUGUESE, here)  # type: ignore[misc]  # likewise
    for status in (400, 401, 403, 404, 429, 500, 503, 507):
        problem = ProblemView(status=status, title=word, detail=word, retry_after=status % 2)
        views[f"problem {status}"] = lambda pages, view=problem: pages.problem(view, ENGLISH, here)  # type: ignore[misc]  # likewise
    return views | dict(registering(word))


# Elements of HTML 5, which libxml2 takes for errors.
NEWER = {
    *("header", "nav", "main", "section", "footer", "time", "wbr"),
    *("svg", "path", "circle", "rect", "g"),
}
UNKNOWN_ELEMENT = 801


def read(page: Page) -> etree._Element:
    """Read a page; whatever breaks a rule of HTML fails the test."""
    assert page.html.startswith("<!doctype html>")
    parser = html.HTMLParser(encoding="utf-8", recover=True)
    root = html.document_fromstring(page.html.encode(), parser=parser)
    faults = [
        fault
        for fault in parser.error_log
        if not (fault.type == UNKNOWN_ELEMENT and fault.message.split()[1] in NEWER)
    ]
    assert faults == []
    check_outline(root, page)
    check_access(root)
    return root


def check_outline(root: etree._Element, page: Page) -> None:
    assert root.get("lang") == page.language
    for once in ("title", "main", "h1", "footer"):
        assert len(list(root.iter(once))) == 1, once
    ids = [each.get("id") for each in root.iter() if each.get("id")]
    assert len(set(ids)) == len(ids)
    for each in root.iter():
        for name in ("aria-labelledby", "aria-describedby", "for"):
            assert each.get(name) is None or each.get(name) in ids
        if (each.get("href") or "").startswith("#"):
            assert str(each.get("href"))[1:] in ids
    for empty in root.iter("ul", "ol", "dl", "p", "h1", "h2", "li", "th", "a"):
        assert "".join(map(str, empty.itertext())).strip(), html.tostring(empty)


def check_access(root: etree._Element) -> None:
    labelled = [each.get("for") for each in root.iter("label")]
    for field in root.iter("input", "textarea"):
        assert field.get("type") == "hidden" or field.get("id") in labelled
    for table in root.iter("table"):
        assert all(each.get("scope") in {"col", "row"} for each in table.iter("th"))
    for nav in root.iter("nav"):
        assert nav.get("aria-label")
    for each in root.iter():
        assert not [name for name in each.attrib if str(name).startswith("on") or name == "style"]
        assert each.tag not in {"style", "iframe", "object", "base"}
        assert each.tag != "script" or each.get("integrity") == SCRIPT_CHECKSUM
        # Roles on parts of tables are errors of HTML; the style sheet does without them.
        assert each.get("role") in {None, "note", "alert", "search", "img"}
        assert int(each.get("tabindex") or 0) <= 0


def shape(root: etree._Element) -> list[tuple[str, list[str]]]:
    elements = (each for each in root.iter() if each.tag != "wbr")  # one after each slash
    return [(str(each.tag), list(map(str, each.attrib))) for each in elements]


def text_of(page: Page) -> str:
    return " ".join("".join(map(str, read(page).itertext())).split())


@pytest.mark.parametrize("name", several())
def test_every_page_keeps_to_the_rules_of_html(name: str) -> None:
    read(several()[name](PAGES))


def test_the_rules_find_what_breaks_them() -> None:
    """The twin."""
    good = several()["home with nonsense"](PAGES)
    for old, new in (
        ("<h1>", "<h2>"),
        ('<main id="content"', '<main id="content" onclick="x"'),
        ('id="found"', 'id="q"'),
        ('for="q">', ">"),
        ("</section>", "</div></section>"),
        ("<h1>", "<h1><script></script>"),
    ):
        assert old in good.html
        with pytest.raises(AssertionError):
            read(Page(good.html.replace(old, new, 1), good.language))


HOSTILE = [
    '"><script>alert(1)</script>',
    "'><img src=x onerror=alert(1)>",
    "</title></head><body onload=alert(1)>",
    "<!--",
    "]]>",
    "{{ 7 * 7 }}{% raw %}",
    "%(asked)s %(what)s %s &amp; &#60;b&#62;",
    "javascript:alert(1)",
    "//evil.example",
    "\\evil.example",
    "\u202e\u2066 <b>",
    "\x00\x1b[2J\udc80<svg/onload=alert(1)>",
]


@pytest.mark.parametrize("name", several())
def test_what_is_foreign_stays_text(name: str) -> None:
    harmless = shape(read(several()[name](pages_of(HARMLESS))))
    for hostile in HOSTILE:
        attacked = read(several(hostile)[name](pages_of(hostile)))
        assert shape(attacked) == harmless, hostile
        check_text(attacked, hostile)


def check_text(attacked: etree._Element, hostile: str) -> None:
    """See that a hostile word leads nowhere, and is shown."""
    for each in attacked.iter("a", "link", "form"):
        address = str(each.get("href") or each.get("action"))
        assert address.startswith(("https:", "http:", "/", "#")), address
        assert not address.startswith(("//", "/\\")), address
        assert "evil.example" not in address.partition("://")[2].partition("/")[0]
    shown = " ".join(hostile.split()).translate(dict.fromkeys((0x00, 0x1B, 0xDC80), "\ufffd"))
    assert shown in " ".join("".join(map(str, attacked.itertext())).split())


def test_pages_need_nothing_that_their_policy_forbids() -> None:
    for make in several().values():
        root = read(make(PAGES))
        assert [each.get("src") for each in root.iter() if each.get("src")] == [
            versioned(SCRIPT, FILES[SCRIPT])
        ]
        for form in root.iter("form"):
            place = str(form.get("action")).partition("?")[0]
            assert (place, form.get("method")) in {
                ("/search", "get"),
                ("/register", "post"),
                ("/register/proof", "post"),
            }


# What is shown


@LANGUAGES
@pytest.mark.parametrize("name", all_outcomes())
def test_an_outcome_says_what_it_is_and_what_to_do_next(
    name: str, preference: LanguagePreference
) -> None:
    view = outcome(name)
    shown = text_of(PAGES.outcome(view, preference))
    words = translations(page_language(preference).code)
    for sentence in (*view.words, view.explanation.because):
        assert words.gettext(sentence) in shown
    assert view.explanation.asked in shown
    assert DESCRIPTION.as_dict()["ip"] in shown


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("not-found", 404),
        ("gone", 410),
        ("unserved", 404),
        ("406", 406),
        ("conflict", 409),
        ("unsure", 503),
        ("doubted", 503),
        ("unread", 503),
        ("loop", 508),
        ("endless", 508),
    ],
)
def test_an_outcome_has_its_status(name: str, status: int) -> None:
    view = outcome(name)
    assert view.status == status
    assert f"Status {status}" in text_of(PAGES.outcome(view, ENGLISH))


def test_a_conflict_names_the_archives_and_wants_an_investigation() -> None:
    view = outcome("conflict")
    english, portuguese = (text_of(PAGES.outcome(view, each)) for each in (ENGLISH, PORTUGUESE))
    assert "An investigation is needed" in english
    assert "É necessária uma investigação" in portuguese
    for service in (FIRST, SECOND):
        assert service in english
    assert THIRD not in english
    links = addresses(PAGES.outcome(view, ENGLISH))
    assert f"/{ITEM}" in links
    assert f"/{ITEM}?ibiurl.requireditemstatus=Original" not in links


def test_who_did_not_answer_is_named() -> None:
    shown = text_of(PAGES.outcome(outcome("unsure", retry_after=5), PORTUGUESE))
    assert f"{SECOND} second.example:8080: Sem resposta: não respondeu a tempo" in shown
    assert "Tente de novo em 5 segundos." in shown
    assert FIRST not in shown


def test_a_claim_that_is_not_believed_is_shown_as_such() -> None:
    shown = text_of(PAGES.outcome(outcome("doubted"), ENGLISH))
    assert "another one that is trusted rather than it does not answer" in shown
    assert f"{SECOND} second.example:8080: It says that it has the Original." in shown


def test_a_claim_in_doubt_by_an_unread_record_is_shown_as_such() -> None:
    english, portuguese = (
        text_of(PAGES.outcome(outcome("unread"), each)) for each in (ENGLISH, PORTUGUESE)
    )
    assert "it cannot be read at the moment whether another one is trusted" in english
    assert "não pode ser lido" in portuguese
    assert f"{SECOND} second.example:8080: It says that it has the Original." in english


def test_a_deletion_has_its_date() -> None:
    shown = text_of(PAGES.outcome(outcome("gone"), PORTUGUESE))
    assert "first.example, 3 de fevereiro de 2020" in shown


def test_an_unknown_format_is_answered_with_the_list() -> None:
    links = addresses(PAGES.outcome(outcome("406"), ENGLISH))
    assert f"/{ITEM}:(oai_dc)" in links
    assert f"/{ITEM}:(oai_dc)" not in addresses(PAGES.outcome(outcome("unserved"), ENGLISH))


def test_a_chain_is_a_list_of_its_labels() -> None:
    root = read(PAGES.outcome(outcome("loop"), ENGLISH))
    (chain,) = root.iter("ol")
    assert ["".join(map(str, each.itertext())) for each in chain.iter("a")] == [ITEM, LATER, ITEM]


def test_every_outcome_leads_to_its_explanation() -> None:
    here = f"/{ITEM}?ibiurl.language=pt"
    links = addresses(PAGES.outcome(outcome("loop"), PORTUGUESE, here))
    assert f"/explain?url={ITEM}%21&lang=pt" in links


def addresses(page: Page) -> list[str]:
    return [str(each.get("href")) for each in read(page).iter("a")]


def test_an_explanation_shows_who_said_what_and_how_long_it_took() -> None:
    view = ExplainView(explanation=explained("redirect"), description=DESCRIPTION)
    root = read(PAGES.explain(view, ENGLISH))
    stops = (each for each in root.iter("li") if (each.get("class") or "").startswith("stop"))
    said = [words(stop) for stop in stops]
    leads = "It leads on to another item:"
    claims = "It says that it has the Original. http://second.example:8080/col/x"
    copy = "It says that it has a copy. http://first.example/col/x"
    assert said == [
        f"You asked for {explained('redirect').steps[0].question}",
        "Resolver asked 3 archives",
        f"{FIRST} first.example Chosen {leads} {LATER} 0.125 s, known to have the Original",
        f"{SECOND} second.example:8080 Not chosen It does not have the item. 0.250 s",
        f"{THIRD} third.example No answer No answer: it is down since 2023-11-14T22:13:20Z 2.000 s",
        f"The next item {LATER}",
        f"The search asked for {explained('redirect').steps[1].question}",
        "Resolver asked 3 archives",
        f"{SECOND} second.example:8080 Chosen {claims} 0.062 s, where the label was made",
        f"{FIRST} first.example Not chosen {copy} 0.125 s",
        f"{THIRD} third.example No answer No answer: it did not answer in time 2.000 s",
        "The item http://second.example:8080/col/x",
    ]
    shown = " ".join("".join(map(str, root.itertext())).split())
    assert f"Chosen because: {explained('redirect').steps[0].because}" in shown
    assert f"The search went on from: {LATER}" in shown
    waits = [each.get("width") for each in root.iter("rect") if each.get("height") == "4"]
    assert waits == ["6.2", "12.5", "100.0", "3.1", "6.2", "100.0"]


def words(element: etree._Element) -> str:
    """Return the text of an element, with a blank between the texts of its parts."""
    text = " ".join(" ".join(map(str, element.itertext())).split())
    return text.replace(" ,", ",").replace("/ ", "/")


def test_an_explanation_is_in_portuguese_too() -> None:
    view = ExplainView(explanation=explained("redirect"), description=DESCRIPTION)
    shown = text_of(PAGES.explain(view, PORTUGUESE))
    for words in (
        "Como um item é encontrado",
        "Sem resposta: está fora do ar desde 2023-11-14T22:13:20Z",
        "Escolhido porque: sabe-se que ele tem o Original",
        "Diz que tem uma cópia.",
        "2,000 s",
        "Passo 2",
    ):
        assert words in shown


def test_the_home_page_has_one_labelled_field() -> None:
    root = read(several()["home"](PAGES))
    (field,) = root.iter("input")
    (label,) = root.iter("label")
    assert (field.get("name"), label.text) == ("q", "Label, link, reference or words")
    links = [str(each.get("href")) for each in root.iter("a")]
    assert f"/search?q={EXAMPLES[0]}" in links
    assert "/archives" in links
    current = [each.text for each in root.iter("a") if each.get("aria-current") == "page"]
    assert current == ["Find an item"]


def test_the_examples_are_identifiers() -> None:
    assert [what_is(each, NOW).kind for each in EXAMPLES] == ["label", "label"]


def test_what_was_pasted_is_opened_and_explained() -> None:
    pasted = what_is(f"<http://urlib.net/{ITEM}!>", NOW)
    view = ResolverHomeView(pasted=pasted)
    page = PAGES.home(view, PORTUGUESE, f"/?q={ITEM}&lang=pt")
    links = addresses(page)
    assert f"/{ITEM}!" in links
    assert f"/explain?url={ITEM}%21&lang=pt" in links
    shown = text_of(page)
    assert "Isto é uma URL persistente" in shown
    assert "os sinais < e > em volta foram retirados" in shown
    assert f"Criado no endereço {DESCRIPTION.as_dict()['ip']}" in shown
    hidden = [each.get("value") for each in read(page).iter("input") if each.get("name") == "lang"]
    assert hidden == ["pt"]


def test_what_may_have_been_meant_is_offered() -> None:
    view = ResolverHomeView(pasted=what_is("8JMKD3MGP7W/3EPGU05", NOW))
    assert "/search?q=8JMKD3MGP7W/3EPGUQ5" in addresses(PAGES.home(view, ENGLISH))


def test_an_identifier_of_another_system_is_sent_on() -> None:
    page = PAGES.home(ResolverHomeView(pasted=what_is("10.1000/182", NOW)), ENGLISH)
    assert "/doi/10.1000/182" in addresses(page)
    assert "another system: DOI" in text_of(page)


def test_a_label_after_all_calendars_is_shown() -> None:
    pasted = what_is("sid.inpe.br/mtc-m19/99999/01.01.00.00", NOW)
    assert pasted.kind in {"label", "unknown"}
    far = describe("8JMKD3MGP7W/" + "T" * 12)
    view = OutcomeView(explanation=explained("not-found"), description=far)
    assert far.label.instant.iso8601 in text_of(PAGES.outcome(view, ENGLISH))


def test_the_list_of_archives_says_how_each_stands() -> None:
    view = ArchivesView(archives=registered("x"), now=NOVEMBER + 3_600 * 10**9, open_conflicts=1)
    english, portuguese = PAGES.archives(view, ENGLISH), PAGES.archives(view, PORTUGUESE)
    shown = text_of(english)
    assert f"first.example {FIRST} In service November 14, 2023" in shown
    assert "Does not answer" in shown
    assert "Waits for confirmation" in shown
    assert "Waits for its announcement" in shown
    assert "1 hour ago" in shown
    assert "1 conflict about an Original is open." in shown
    assert "há 1 hora" in text_of(portuguese)
    assert "Não responde" in text_of(portuguese)
    assert "secret@" not in english.html


def test_archives_are_counted_by_how_they_stand() -> None:
    counts = counted(registered("x"))
    assert counts[ArchiveState.INCLUDED] == 3
    assert counts[ArchiveState.DOWN] == counts[ArchiveState.PENDING] == 1
    shown = text_of(PAGES.home(ResolverHomeView(archives=counts), PORTUGUESE))
    assert "3 acervos estão em serviço. 1 acervo não responde." in shown


def test_a_problem_says_what_to_do() -> None:
    busy = ProblemView(status=503, title="Busy", detail="Too much.", retry_after=1)
    shown = text_of(PAGES.problem(busy, PORTUGUESE))
    assert "O resolvedor está ocupado Busy: Too much. Tente de novo em 1 segundo." in shown


# The registration of an archive


def fields_of(page: Page) -> dict[str, dict[str, str]]:
    """Return the attributes of the fields of all forms, by id or, if hidden, by value."""
    inputs = [
        {str(name): str(value) for name, value in each.items()} for each in read(page).iter("input")
    ]
    return {each.get("id") or each["value"]: each for each in inputs}


@LANGUAGES
def test_strangers_have_a_form_only_where_registration_is_open(
    preference: LanguagePreference,
) -> None:
    assert not fields_of(PAGES.register(RegisterView(is_open=False), preference))
    opened = fields_of(PAGES.register(RegisterView(is_open=True), preference))
    assert opened.keys() == {"domain-service", "domain-administrator"}


@LANGUAGES
def test_what_was_filled_in_stays_in_the_form_with_what_is_wrong(
    preference: LanguagePreference,
) -> None:
    filled = FilledForm(service=FIRST, administrator="a@example.org")
    fault = ProblemView(status=400)
    page = PAGES.register(RegisterView(is_open=True, filled=filled, fault=fault), preference)
    fields = fields_of(page)
    assert fields["domain-service"]["value"] == FIRST
    assert fields["domain-administrator"]["value"] == "a@example.org"
    (alert,) = (each for each in read(page).iter("p") if each.get("role") == "alert")
    section = alert.getparent()
    assert section is not None
    assert section.get("aria-labelledby") == "domain"


def test_faults_are_told_in_both_languages() -> None:
    for status, english, portuguese in (
        (400, "The archive was not registered: why", "O acervo não foi cadastrado: why"),
        (404, "Begin again", "Comece de novo"),
        (422, "what was found: why", "o que se encontrou: why"),
        (429, "Too many requests. Try again in 9 seconds.", "Tente de novo em 9 segundos."),
        (503, "The resolver is busy. Try", "O resolvedor está ocupado. Tente"),
    ):
        fault = ProblemView(status=status, detail="why", retry_after=9 * (status in {429, 503}))
        view = ChallengeView(token="t", challenge=None, fault=fault)  # noqa: S106  # none
        assert english in text_of(PAGES.challenge(view, ENGLISH))
        assert portuguese in text_of(PAGES.challenge(view, PORTUGUESE))


def test_a_challenge_is_shown_with_both_ways_to_meet_it() -> None:
    challenge = Challenge("token-of-it", FIRST, "example.org:8080", "", NOVEMBER, NOVEMBER)
    view = ChallengeView(token=challenge.token, challenge=challenge)
    assert view.at_host is not None
    assert view.in_names is not None
    page = PAGES.challenge(view, PORTUGUESE, "/register?lang=pt")
    shown = text_of(page)
    for proof in (view.at_host, view.in_names):
        assert proof.place in shown
        assert proof.text in shown
    assert "14 de novembro de 2023" in shown
    assert challenge.token not in shown
    assert fields_of(page)[challenge.token]["type"] == "hidden"
    (form,) = read(page).iter("form")
    assert form.get("action") == "/register/proof?lang=pt"


def test_an_ip_address_has_one_way() -> None:
    challenge = Challenge("t", FIRST, "127.0.0.1:8080", "", NOVEMBER, NOVEMBER)
    view = ChallengeView(token="t", challenge=challenge)  # noqa: S106  # as above
    assert "TXT" not in text_of(PAGES.challenge(view, ENGLISH))


@LANGUAGES
@pytest.mark.parametrize("origin", ["operator", "domain"])
def test_a_key_is_shown_with_what_to_do_and_in_no_address_or_title(
    origin: Origin, preference: LanguagePreference
) -> None:
    page = PAGES.key(replace(key_view("x", origin), resolver=BASE), preference, "/register")
    root = read(page)
    shown = text_of(page)
    assert f"ibi archive link {BASE} --key {KEY}" in shown
    assert "--service" not in shown
    (title,) = root.iter("title")
    assert str(KEY) not in str(title.text)
    assert not [each for each in root.iter() if str(KEY) in " ".join(map(str, each.values()))]


def test_a_resolver_with_a_label_of_its_own_is_linked_by_it() -> None:
    assert key_view("x", service=ITEM).command.endswith(f" --service {ITEM}")


def test_the_list_of_archives_leads_to_registration() -> None:
    view = ArchivesView(archives=(), now=NOVEMBER)
    assert "/register" in addresses(PAGES.archives(view, ENGLISH))
    page = PAGES.archives(view, PORTUGUESE, "/archives?lang=pt")
    assert "/register?lang=pt" in addresses(page)
    assert "Cadastrar acervo" in text_of(page)


# Plain text


def test_plain_text_says_the_same_in_three_lines() -> None:
    assert PAGES.plain_outcome(outcome("conflict"), PORTUGUESE) == (
        "Os acervos divergem sobre quem tem o Original: "
        f"{ITEM}?ibiurl.requireditemstatus=Original\n"
        "Mais de um acervo diz que tem o Original. É necessária uma investigação, e ninguém é "
        f"encaminhado a nenhum deles. ({FIRST}, {SECOND})\n"
        "O conflito está registrado para o operador deste resolvedor. Até que seja decidido, peça "
        "o item sem exigir o Original.\n"
    )
    assert f"({ITEM} > {LATER} > {ITEM})" in PAGES.plain_outcome(outcome("loop"), ENGLISH)


@pytest.mark.parametrize("name", all_outcomes())
@LANGUAGES
def test_plain_text_is_three_lines_whatever_comes_in(
    name: str, preference: LanguagePreference
) -> None:
    hostile = "\x1b[2J\r\nSet-Cookie: x\u2028"
    view = replace(outcome(name), explanation=with_word(name, hostile))
    lines = PAGES.plain_outcome(view, preference).splitlines()
    assert len(lines) == 3
    assert all(line.isprintable() for line in lines)


# Languages


def test_own_pages_and_persistent_urls_choose_the_language_each_in_its_way() -> None:
    links = ResolverLinks(BASE)
    assert links.in_language("/explain?url=a", "pt") == f"{BASE}/explain?url=a&lang=pt"
    assert links.in_language("/register", "pt") == f"{BASE}/register?lang=pt"
    here = f"/{ITEM}!?x=1&ibiurl.language=en"
    assert links.in_language(here, "pt") == f"{BASE}/{ITEM}!?x=1&ibiurl.language=pt"


@pytest.mark.parametrize(
    ("here", "chosen"),
    [
        ("/?lang=pt", "pt"),
        ("/?q=x&lang=PT-br", "pt"),
        ("/x?ibiurl.language=en", "en"),
        ("/?lang=de", ""),
        ("/?lang=%22%3E", ""),
        ("/lang=pt", ""),
        ("", ""),
    ],
)
def test_the_language_that_was_chosen_stays(here: str, chosen: str) -> None:
    links = ResolverLinks(f"{BASE}/below")
    assert links.chosen(here) == chosen
    assert links.own("/archives", here) == "/below/archives" + (f"?lang={chosen}" if chosen else "")


def words_of_pages() -> Iterator[str]:
    """Yield the texts of all pages in Portuguese, but for what is marked as English."""
    for name, make in several().items():
        page = make(PAGES)
        if page.language.startswith("pt"):
            root = read(page)
            for each in list(root.iter()):
                if each.get("lang") == "en":
                    each.clear()
            text = " ".join("".join(map(str, root.itertext())).split())
            yield f"{name.replace('-', '_')}: {text}"


ENGLISH_WORDS = re.compile(r"\b(?:the|is|are|was|of|that|has|have|answer|its|because)\b")


def test_no_english_is_left_in_portuguese() -> None:
    texts = list(words_of_pages())
    assert len(texts) > 20
    for text in texts:
        assert ENGLISH_WORDS.search(text) is None, text


@pytest.mark.parametrize("reason", REASONS)
def test_reasons_are_told_in_portuguese(reason: str) -> None:
    told = translations("pt").gettext
    what = "500" if "answered" in reason else "2023-11-14T22:13:20Z"
    shown = translated_reason(told, reason % {"what": what})
    assert shown == told(reason) % {"what": what}
    assert shown != reason % {"what": what}


@pytest.mark.parametrize("reason", ["", "who knows", "it answered <b>", "it is down since %s"])
def test_other_reasons_stay_as_they_are(reason: str) -> None:
    assert translated_reason(translations("pt").gettext, reason) == ""


def test_every_outcome_has_words() -> None:
    assert {explained(name).case for name in all_outcomes()} == OUTCOME_TEXTS.keys()


@LANGUAGES
def test_an_item_that_another_leads_to_is_named(preference: LanguagePreference) -> None:
    view = outcome("next-not-found")
    assert view.explanation.missing == LATER
    text = PAGES.outcome(view, preference).html
    assert re.search(rf"(In no archive|Em nenhum acervo): {re.escape(LATER)}", text)
    assert f"({LATER})" in PAGES.plain_outcome(view, preference)
    assert f"in no archive: {LATER}" in as_text(view.explanation)


@LANGUAGES
def test_a_copy_of_a_deleted_original_is_named(preference: LanguagePreference) -> None:
    view = outcome("original-gone")
    assert view.status == 410
    assert {each.said for each in view.concerned} == {"deleted", "copy"}
    text = PAGES.outcome(view, preference).html
    assert "no archive has it any more" not in text
    assert "nenhum acervo o tem mais" not in text
