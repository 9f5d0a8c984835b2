"""The pages of drafts, without script: forms as browsers send them."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping

import pytest

from tests.support.clients.browser import PASSWORD, Browser, hidden, main_part
from tests.support.clients.http import Answer
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.postgres import DATABASES, database_options

WHOLE = {
    "title": "Soil moisture",
    "creator": "Vilela, Renata Campos",
    "year": "2026",
    "type": "Dataset",
    "licence": "CC-BY-4.0",
}
CONTENT = bytes(range(256)) * 10_000


@pytest.fixture(scope="module", params=DATABASES)
def archive(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ArchiveServer]:
    options = database_options(request, "--catalogue")
    made = ArchiveServer(tmp_path_factory.mktemp(request.param), *options)
    made.set(largest_file=5_000_000)
    with made as started:
        yield started


@pytest.fixture(scope="module")
def ana(archive: ArchiveServer) -> Browser:
    return archive.signed_in("depositor", name="ana")


def new_draft(person: Browser) -> str:
    """Open a draft as the page does; return its path."""
    page = person.get("/deposit")
    opened = person.submit(page, "/deposit", {})
    assert opened.status == 303, opened.body
    return opened.headers["location"]


def save(person: Browser, place: str, fields: Mapping[str, str], act: str = "save") -> Answer:
    page = person.get(place)
    assert page.status == 200, page.body
    return person.submit(page, place, {**fields, "act": act})


def multipart(*parts: tuple[str, str | None, bytes]) -> tuple[bytes, str]:
    body = b""
    for name, filename, content in parts:
        body += b'--xyz\r\nContent-Disposition: form-data; name="' + name.encode() + b'"'
        if filename is not None:
            body += b'; filename="' + filename.encode() + b'"\r\nContent-Type: text/csv'
        body += b"\r\n\r\n" + content + b"\r\n"
    return body + b"--xyz--\r\n", "multipart/form-data; boundary=xyz"


def upload(person: Browser, place: str, *files: tuple[str, bytes], **fields: str) -> Answer:
    page = person.get(place)
    found = re.search(r'formaction="([^"]*)"', page.body.decode())
    assert found is not None
    texts = {"version": hidden(page)["version"], **fields}
    body, kind = multipart(
        *((name, None, text.encode()) for name, text in texts.items()),
        *(("files", path, content) for path, content in files),
    )
    target = html.unescape(found[1]).partition(person.address)[2] or html.unescape(found[1])
    named = {"Content-Type": kind, "Origin": person.address}
    return person.send("POST", target, body, named)


def test_a_draft_is_made_filled_and_published_without_script(
    archive: ArchiveServer, ana: Browser
) -> None:
    place = new_draft(ana)
    assert "Before you publish" in main_part(ana.get(place))
    kept = save(ana, place, {"title": "Umidade", "year": "20226"})
    assert (kept.status, kept.headers["location"]) == (303, place)
    page = main_part(ana.get(place))
    assert 'value="20226"' in page
    assert "A year has four digits." in page
    sent = upload(ana, place, ("Relatório.csv", CONTENT), ("b.txt", b""), title="Soil")
    assert sent.status == 303, sent.body
    page = main_part(ana.get(place))
    assert 'value="Soil"' in page
    assert "Relatório.csv" in page
    refused = ana.get(f"{place}/publish")
    assert refused.headers["location"] == f"{place}?check=1#checks"
    page = main_part(ana.get(f"{place}?check=1"))
    assert page.count('class="fault"') >= 3
    assert save(ana, place, WHOLE, "publish").headers["location"] == f"{place}/publish"
    summary = ana.get(f"{place}/publish")
    assert "becomes permanent" in main_part(summary)
    preview = ana.get(f"{place}/preview")
    assert "This is a preview." in main_part(preview)
    assert "Soil moisture" in main_part(preview)
    published = ana.submit(summary, f"{place}/publish", {})
    again = ana.submit(summary, f"{place}/publish", {})
    assert published.headers["location"] == again.headers["location"] == place
    page = main_part(ana.get(place))
    assert "It is published." in page
    label = re.search(r'data-copy="[^"]*/([^"/]+/[^"/]+)"', page)
    assert label is not None
    assert archive.item(label[1])["state"] == "Original"
    files = archive.api("GET", f"items/{label[1]}/files").json()["files"]
    assert [each["path"] for each in files] == ["Relatório.csv", "b.txt"]


def test_a_form_from_an_older_window_shows_both(ana: Browser) -> None:
    place = new_draft(ana)
    first, second = ana.get(place), ana.get(place)
    ana.submit(first, place, {"title": "From one", "abstract": "A"})
    answer = ana.submit(second, place, {"title": "From two", "abstract": "A"})
    assert answer.status == 409
    page = main_part(answer)
    assert 'value="From two"' in page
    assert page.count("Saved in the other window:") == 1
    assert "From one" in page
    answer = ana.submit(answer, place, {"title": "From two", "abstract": "A"})
    assert answer.status == 303
    assert 'value="From two"' in main_part(ana.get(place))


def test_one_form_makes_one_draft(ana: Browser) -> None:
    page = ana.get("/deposit")
    found = {ana.submit(page, "/deposit", {}).headers["location"] for _ in range(3)}
    assert len(found) == 1


def test_a_file_that_is_refused_does_not_keep_others_from_coming(ana: Browser) -> None:
    place = new_draft(ana)
    answer = upload(
        ana,
        place,
        ("a.txt", b"1"),
        ("../b.txt", b"2"),
        ("large", b"x" * 5_000_001),
        ("c.txt", b"3"),
        title="Kept",
    )
    assert answer.status == 400
    page = main_part(answer)
    assert "../b.txt" in page
    assert 'value="Kept"' in page
    table = page.partition("file-table")[2].partition("</table>")[0]
    assert "a.txt" in table
    assert "c.txt" in table
    assert "large" not in table
    removed = save(ana, place, {"remove-file": "a.txt", "title": "Kept"}, "")
    assert removed.headers["location"] == f"{place}#files"
    assert "a.txt" not in main_part(ana.get(place))


def test_rows_are_added_and_stay(ana: Browser) -> None:
    place = new_draft(ana)
    answer = save(ana, place, {"creator": "A, B"}, "more-creator")
    assert answer.headers["location"] == f"{place}#more-creator"
    page = main_part(ana.get(place))
    assert page.count('name="creator"') == 2
    assert 'value="A, B"' in page


def test_a_draft_is_discarded_after_a_yes(ana: Browser) -> None:
    place = new_draft(ana)
    asked = save(ana, place, {"title": "Away"}, "discard")
    assert asked.headers["location"] == f"{place}/discard"
    page = ana.get(f"{place}/discard")
    assert "Away" in main_part(page)
    assert ana.submit(page, f"{place}/discard", {}).headers["location"] == "/deposit"
    assert "Away" not in main_part(ana.get("/deposit"))
    assert "This draft was discarded." in main_part(ana.get(place))


def test_to_others_there_is_no_draft(archive: ArchiveServer, ana: Browser) -> None:
    place = new_draft(ana)
    save(ana, place, {"title": "Secret title"})
    eve = archive.signed_in("administrator", name="eve")
    for path in ("", "/files", "/preview", "/publish", "/discard"):
        answer = eve.get(f"{place}{path}")
        assert answer.status == 404, path
        assert b"Secret" not in answer.body
    sent = eve.post(f"{place}/files", X_CSRF_Token=eve.csrf)
    assert sent.status == 404
    for path in ("", "/publish", "/discard", "/withdraw", "/remove", "/import"):
        assert eve.post(f"{place}{path}", {"title": "x", "version": "1"}).status == 404, path
    assert b"Secret" not in eve.get("/deposit").body
    assert "Secret title" in main_part(ana.get(place))


def test_what_was_typed_survives_the_end_of_a_session(archive: ArchiveServer, ana: Browser) -> None:
    place = new_draft(ana)
    page = ana.get(place)
    gone = Browser(archive.address)
    answer = gone.submit(page, place, {"title": "Typed for an hour"})
    assert "Typed+for+an+hour" in html.unescape(answer.body.decode())
    assert "Your session has ended." in main_part(answer)
    # The same for the form with files, whose texts come before and after them.
    parts = (
        ("title", None, b"Beside"),
        ("files", "a.csv", b"1" * 99),
        ("abstract", None, b"files"),
    )
    body, kind = multipart(("version", None, b"0"), *parts)
    headers = {"Content-Type": kind, "Origin": gone.address}
    answer = gone.send("POST", f"{place}/files?csrf={ana.csrf}", body, headers)
    assert answer.status == 401, answer.body
    confirmed = gone.submit(answer, "/sign-in", {"name": "ana", "password": PASSWORD})
    assert gone.submit(confirmed, place, {}).status == 303
    kept = main_part(ana.get(place))
    assert 'value="Beside"' in kept
    assert "files</textarea>" in kept
    assert "a.csv" not in kept


@pytest.mark.parametrize("language", ["en", "pt-BR"])
def test_pages_of_drafts_speak_one_language(ana: Browser, language: str) -> None:
    place = new_draft(ana)
    save(ana, place, WHOLE)
    for path in ("/deposit", place, f"{place}/publish", f"{place}/discard", f"{place}/preview"):
        page = ana.get(f"{path}?lang={language}")
        assert page.status == 200, page.body
        assert f'lang="{language}"' in page.body.decode()[:200]


BIBTEX = b"""@misc{soil, title = {Soil moisture}, author = {Vilela, Renata and Holanda, Paulo},
  year = {2026}, publisher = {INPE}}"""


def test_a_form_is_filled_in_from_a_text_a_file_or_a_label(
    archive: ArchiveServer, ana: Browser
) -> None:
    place = new_draft(ana)
    save(ana, place, {"title": "Old", "readers": "192.0.2.0/24"})
    page = ana.get(f"{place}/import")
    filled = ana.submit(page, f"{place}/import", {"text": BIBTEX.decode(), "label": ""})
    assert filled.status == 200, filled.body
    shown = main_part(filled)
    assert 'value="Soil moisture"' in shown
    assert 'value="Holanda, Paulo"' in shown
    assert "192.0.2.0/24" in shown
    refused = ana.submit(page, f"{place}/import", {"text": "nothing known", "label": ""})
    assert refused.status == 400
    assert "nothing known" in main_part(refused)
    label = archive.deposit(metadata={"titles": ["An earlier item"], "dates": ["2020"]})["rep"]
    filled = ana.submit(page, f"{place}/import", {"text": "", "label": label})
    assert 'value="An earlier item"' in main_part(filled)
    # Another archive may have it: linked resolvers are asked, of which there are none here.
    unknown = ana.submit(page, f"{place}/import", {"text": "", "label": "LK47B6W/362SFKH"})
    assert unknown.status == 400
    assert "linked to no resolver that could know it" in main_part(unknown)
    body, kind = multipart(("file", "a.bib", BIBTEX))
    named = {"Content-Type": kind, "Origin": ana.address, "X-CSRF-Token": ana.csrf}
    filled = ana.send("POST", f"{place}/import-file", body, named)
    assert 'value="Soil moisture"' in main_part(filled)


def published(person: Browser, title: str = "Soil moisture") -> str:
    """Publish an item as its pages do; return its label."""
    place = new_draft(person)
    upload(person, place, ("a.txt", b"1"), ("b.txt", b"2"), **{**WHOLE, "title": title})
    summary = person.get(f"{place}/publish")
    assert person.submit(summary, f"{place}/publish", {}).status == 303
    found = re.search(r'data-copy="[^"]*/([^"/]+/[^"/]+)"', main_part(person.get(place)))
    assert found is not None
    return found[1]


def act(person: Browser, name: str, label: str, **fields: str) -> Answer:
    """Do an act on an item, after its page was read."""
    path = f"/deposit/act/{name}/{label}"
    page = person.get(path)
    assert page.status == 200, page.body
    return person.submit(page, path, fields)


def test_each_act_on_an_item_has_a_page_of_its_own(archive: ArchiveServer, ana: Browser) -> None:
    label = published(ana)
    page = main_part(ana.get(f"/deposit/item/{label}"))
    assert "New edition" in page
    assert "Delete with a reason" not in page
    place = act(ana, "edition", label).headers["location"]
    assert 'value="Soil moisture"' in main_part(ana.get(place))
    summary = ana.get(f"{place}/publish")
    assert ana.submit(summary, f"{place}/publish", {}).status == 303
    assert archive.item(label)["next_edition"]
    place = act(ana, "files", label).headers["location"]
    upload(ana, place, ("a.txt", b"new"), remove="b.txt")
    summary = ana.get(f"{place}/publish")
    assert ana.submit(summary, f"{place}/publish", {}).status == 303
    files = archive.api("GET", f"items/{label}/files").json()["files"]
    assert [(each["path"], each["size"]) for each in files] == [("a.txt", 3)]
    assert act(ana, "readers", label, readers="192.0.2.0/24").status == 303
    assert archive.item(label)["readers"] == ["192.0.2.0/24"]
    assert act(ana, "readers", label, readers="no network").status == 409
    path = f"/deposit/describe/{label}"
    form = ana.get(path)
    changed = ana.submit(form, path, {**WHOLE, "title": "Better title"})
    assert changed.status == 303, changed.body
    assert archive.item(label)["record"]["titles"] == [{"value": "Better title"}]
    answer = ana.submit(form, path, {**WHOLE, "title": "Late"})
    assert answer.status == 409
    assert "Better title" in main_part(answer)
    answer = ana.submit(ana.get(path), path, {**WHOLE, "year": "x"})
    assert answer.status == 400
    assert "A year has four digits." in main_part(answer)


def test_acts_on_items_are_for_their_depositors_and_curators(
    archive: ArchiveServer, ana: Browser
) -> None:
    label = published(ana, "Mine")
    eve = archive.signed_in("depositor", name="eve2")
    for path in (
        f"/deposit/item/{label}",
        f"/deposit/describe/{label}",
        f"/deposit/act/edition/{label}",
        f"/deposit/act/files/{label}",
        f"/deposit/act/delete/{label}",
    ):
        assert eve.get(path).status == 403, path
    assert eve.post(f"/deposit/act/readers/{label}", {"readers": ""}).status == 403
    page = f"/col/{archive.item(label)['metadata']['rep']}/doc/metadata"
    assert "Change this item" in main_part(ana.get(page, Accept="text/html"))
    assert "Change this item" not in main_part(eve.get(page, Accept="text/html"))
    assert ana.get(f"/deposit/act/delete/{label}").status == 403
    curator = archive.signed_in("curator")
    assert curator.get(f"/deposit/item/{label}").status == 200
    boss = archive.signed_in("administrator", name="boss")
    assert act(boss, "delete", label, reason="Wrong").status == 303
    assert archive.item(label)["state"] == "Deleted"


def test_my_items_are_searched_filtered_and_sorted(ana: Browser) -> None:
    for title in ("Zebra 100%", "Anta", "Onça"):
        published(ana, title)
    page = main_part(ana.get("/deposit/items?order=title"))
    assert page.index("Anta") < page.index("Zebra")
    page = main_part(ana.get("/deposit/items?q=100%25"))
    assert "Zebra" in page
    assert "Anta" not in page
    assert "Anta" not in main_part(ana.get("/deposit/items?state=Deleted"))
    assert "There is nothing of this kind." in main_part(ana.get("/deposit/items?page=9"))


def test_my_items_have_the_titles_that_items_have_now(ana: Browser) -> None:
    label = published(ana, "A water temprature")
    path = f"/deposit/describe/{label}"
    changed = ana.submit(ana.get(path), path, {**WHOLE, "title": "A water temperature"})
    assert changed.status == 303, changed.body
    assert "A water temperature" in main_part(ana.get("/deposit/items?q=temperature"))
    assert "temprature" not in main_part(ana.get("/deposit"))
