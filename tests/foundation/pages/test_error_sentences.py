"""Errors in the language of a reader: every error that a page can show has a Portuguese text."""

from __future__ import annotations

import pickle
import re
from typing import Final

import pytest
from starlette.exceptions import HTTPException

from ibi import errors
from ibi.errors import IbiError, ReadingError, RequestError, Sentence
from ibi.errors.sentence import either, plain
from ibi.foundation.translation.language import translations
from ibi.foundation.web.problems import problem_of
from ibi.identifier.language import Language
from ibi.identifier.persistent_url import PersistentUrl
from ibi.resolver.rules.foreign_identifiers import onward

PORTUGUESE: Final = translations("pt").gettext
ENGLISH_WORDS: Final = re.compile(
    r"\b(?:the|is|are|was|of|that|has|have|its|not|there|this|expected|found|and|or|from)\b"
)

OF_READERS: Final[tuple[IbiError, ...]] = (
    errors.UnauthenticatedError(),
    errors.ForbiddenError("read"),
    errors.ReadersError("LABEL", ""),
    errors.ReadersError("LABEL", "http://a.example/LABEL"),
    *(errors.UnknownError(thing, "x") for thing in ("item", "file", "metadata of")),
    errors.DeletedError("LABEL"),
    errors.TooManyRequestsError(3),
    errors.SearchTimeoutError(2.5),
    errors.WriterUnavailableError(3),
    errors.StorageError("/srv", "disk"),
    errors.StorageFullError("/srv", "disk"),
    *(errors.NotOnRecordError(thing, "x") for thing in ("archive", "challenge", "conflict")),
    errors.RegistrationKeyError(),
    errors.OverloadError(2),
    errors.KeyTextError(),
    RequestError(Sentence("The parameter q is missing: the words to search for.")),
)
"""Errors that pages show to readers without a token, but for those of texts that they wrote."""

WRITTEN: Final = (
    *("", "x", "a/b", "8JMKD3MGP7W", "8JMKD3MGP7W/3EPGU0", "W/3", "8JMKD3MGP7W/X", "/3", "8JM/3"),
    *("8JMKD3MGP7W/3EPGUE5 !", "8JMKD3MGP7W/3EPGUE5!!", "8JMKD3MGP7W/3EPGUE5:+!", "2222222222X/3"),
    *("a.b/c/2013", "a.b/c/2013/13.01.01.01", "a.b/c/2013/02.30.01.01", "-a.b/c/2013/01.01.01.01"),
    *("a.b/c@99999/2013/01.01.01.01", "a.b/c/13/01.01.01.01", "a_b/c/2013/01.01.01.01", "x" * 9999),
    *("8JMKD3MGP7W/3EPGUE5+(xx)", "8JMKD3MGP7W/3EPGUE5+(pt-XX)", "8JMKD3MGP7W/3EPGUE5+(toolong)"),
    *("8JMKD3MGP7W/3EPGUE5?ibiurl.verblist=Nothing", "8JMKD3MGP7W/3EPGUE5?ibiurl.verblist=+"),
    *(
        "8JMKD3MGP7W/3EPGUE5:(",
        "8JMKD3MGP7W/3EPGUE5:(<)",
        "8JMKD3MGP7W/3EPGUE5/%00",
        "a.b/c/2013/1",
    ),
    "8JMKD3MGP7W/3EPGUE5?ibiurl.requireditemstatus=x",
)
"""Texts that are no persistent URLs, by all kinds of faults."""


def faults() -> list[ReadingError]:
    found: list[ReadingError] = []
    for text in WRITTEN:
        try:
            PersistentUrl.parse(text)
        except ReadingError as fault:
            found.append(fault)
    assert len(found) > 20
    return found


def told(error: IbiError) -> str:
    """Return what a page in Portuguese says of an error."""
    detail = problem_of(error)[0].detail
    assert isinstance(detail, Sentence), error
    return detail.translated(PORTUGUESE)


@pytest.mark.parametrize("error", OF_READERS, ids=lambda error: type(error).__name__)
def test_every_error_that_a_page_shows_has_a_portuguese_text(error: IbiError) -> None:
    problem, _ = problem_of(error)
    assert told(error) != problem.detail
    assert ENGLISH_WORDS.search(told(error)) is None, told(error)
    assert PORTUGUESE(problem.title) != problem.title


def test_every_fault_of_a_text_has_a_portuguese_text() -> None:
    for fault in faults():
        # What a reader wrote is quoted as it is.
        quoted = re.sub(r"'[^']*'", "", told(fault))
        assert ENGLISH_WORDS.search(quoted) is None, told(fault)


@pytest.mark.parametrize("path", ["/doi/x", "/hdl/x", "/ark:/", "/urn:x"])
def test_an_identifier_of_another_system_has_a_portuguese_example(path: str) -> None:
    system = path[1:4]
    with pytest.raises(RequestError) as caught:
        onward(path, {system: "https://upstream.example/"})
    assert ENGLISH_WORDS.search(told(caught.value)) is None
    assert told(caught.value).startswith("Isto não pode ser encaminhado: um")


def test_the_class_of_every_fault_is_tried() -> None:
    tried = {type(fault) for fault in faults()}
    for text in ("xx", "pt_BR"):
        with pytest.raises(errors.LanguageError) as caught:
            Language.parse(text)
        tried.add(type(caught.value))
    wanted: set[type[ReadingError]] = {
        errors.LabelError,
        errors.IbipError,
        errors.RepositoryNameError,
    }
    wanted |= {errors.PersistentUrlError, errors.ModifierOrderError, errors.LanguageError}
    assert wanted <= tried


def test_a_message_is_the_same_text_as_before() -> None:
    error = errors.UnknownError("item", "x")
    assert str(error) == "There is no item 'x' in this archive."
    assert type(str(error)) is str
    assert str(RequestError("as it is")) == "as it is"
    assert type(str(RequestError(Sentence("as it is")))) is str


def test_a_sentence_survives_a_pickle_and_nests() -> None:
    inner = Sentence("the label")
    outer = Sentence("%(text)s or 100 %%: %(inner)s", text="%(x)s", inner=inner)
    again = pickle.loads(pickle.dumps(outer))  # noqa: S301  # our own
    assert (again, again.template, again.fields) == (outer, outer.template, outer.fields)
    assert outer == "%(x)s or 100 %: the label"
    assert again.translated(PORTUGUESE) == "%(x)s or 100 %: o rótulo"
    assert type(plain(outer)) is str
    assert either(("a", "b", "c")) == "a or b or c"


def test_a_problem_of_the_router_has_no_title_of_its_own() -> None:
    problem, _ = problem_of(HTTPException(404))
    assert PORTUGUESE(problem.detail) == "Não há nada neste endereço."
    assert problem.type == "about:blank"
