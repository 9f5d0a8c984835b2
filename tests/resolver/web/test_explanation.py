"""The explanation of a resolution: all that was heard, but for keys and clients."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from ibi.identifier.language_preference import LanguagePreference
from ibi.model.item import State
from ibi.resolver.rules.decision import Why, decide
from ibi.resolver.rules.evidence import Evidence
from ibi.resolver.rules.redirect_target import OFF_HOST
from ibi.resolver.rules.resolution import Resolution
from ibi.resolver.web.explanation import SENTENCES, Explanation, as_text, sentence
from ibi.resolver.web.explanation_builder import NOT_AWAITED, explain
from tests.support.values.resolutions import (
    ARCHIVES,
    FIRST,
    ITEM,
    KEY,
    LATER,
    SECOND,
    THIRD,
    all_outcomes,
    evidence,
    has,
    has_not,
    redirected,
    resolution,
    silent,
)


def explained(resolved: Resolution) -> Explanation:
    return explain(resolved, ARCHIVES.get)


@pytest.mark.parametrize("name", all_outcomes())
def test_every_outcome_has_its_name_and_a_sentence(name: str) -> None:
    special = {
        "406": "unserved",
        "doubted": "unsure",
        "unread": "unsure",
        "original-gone": "gone",
        "next-not-found": "not-found",
        "in-the-future": "not-found",
        "unknown-host": "not-found",
    }
    explanation = explained(all_outcomes()[name])
    assert explanation.outcome == special.get(name, name)
    assert explanation.because == sentence(explanation.case)
    assert bool(explanation.location) == (name == "redirect")


def test_every_reason_of_a_choice_has_a_sentence() -> None:
    assert set(Why) < SENTENCES.keys()


def test_what_each_archive_said_is_told() -> None:
    first, second = explained(redirected()).steps
    assert first.question == f"{ITEM}!"
    assert (first.label, first.verbs) == (ITEM, ("GetLastEdition",))
    told = [(each.archive, each.said, each.detail, each.next) for each in first.asked]
    assert told == [
        (FIRST, "has-it", "", LATER),
        (SECOND, "no", "", ""),
        (THIRD, "silent", "it is down since 2023-11-14T22:13:20Z", ""),
    ]
    assert (first.decision, first.why, first.next) == ("hop", "owner", LATER)
    assert [each.is_owner for each in first.asked] == [True, False, False]
    assert [each.said for each in second.asked] == ["original", "copy", "silent"]
    assert [each.is_home for each in second.asked] == [True, False, False]
    assert [each.chosen for each in second.asked] == [True, False, False]
    assert second.asked[0].address == "second.example:8080"
    assert second.asked[0].seconds == 0.0625
    assert (second.decision, second.why) == ("redirect", "home")


def test_the_whole_is_told() -> None:
    explanation = explained(redirected())
    assert explanation.asked == f"{ITEM}!"
    assert explanation.location == "http://second.example:8080/col/x"
    assert explanation.chain == (ITEM, LATER)
    assert explanation.seconds == 1.0
    assert explanation.longest == 2.0


def test_a_chain_names_all_labels() -> None:
    assert explained(all_outcomes()["loop"]).chain == (ITEM, LATER, ITEM)


def test_a_claim_that_was_not_believed_is_told() -> None:
    last = explained(all_outcomes()["doubted"]).last
    assert (last.decision, last.why) == ("unsure", "doubted")
    assert [each.said for each in last.asked] == ["original", "silent"]
    last = explained(all_outcomes()["unread"]).last
    assert (last.decision, last.why) == ("unsure", "unread")
    assert [each.said for each in last.asked] == ["original"]


def test_who_was_not_waited_for_is_told_after_the_others() -> None:
    heard = evidence(has(FIRST), owner=FIRST)
    early = replace(heard, awaited=frozenset({ARCHIVES_BY_LABEL[SECOND]}))
    asked = explained(_of(early)).last.asked
    assert [(each.archive, each.said, each.detail) for each in asked[1:]] == [
        (SECOND, "silent", NOT_AWAITED)
    ]


def test_who_is_asked_first_is_told_where_others_are_held_back() -> None:
    heard = evidence(has(FIRST), has_not(SECOND), silent(THIRD), owner=FIRST)
    likely = frozenset(ARCHIVES_BY_LABEL[name] for name in (FIRST, THIRD))
    explanation = explained(_of(replace(heard, asked_first=likely)))
    assert [each.is_likely for each in explanation.last.asked] == [True, False, True]
    told = [line.count("asked first") for line in as_text(explanation).splitlines()]
    assert told[1:4] == [1, 0, 1]
    assert not any(each.is_likely for each in explained(_of(heard)).last.asked)


ARCHIVES_BY_LABEL = {each.service.spelling: each.id for each in ARCHIVES.values()}


def _of(heard: Evidence) -> Resolution:
    made = resolution(ITEM, heard)
    assert made.outcome == decide(made.question, heard)
    return made


def test_what_was_set_aside_is_told() -> None:
    answer = has(FIRST, None, fault=OFF_HOST)
    (asked,) = explained(resolution(ITEM, evidence(answer))).last.asked
    assert (asked.said, asked.fault) == ("has-it", OFF_HOST)


def test_an_archive_that_is_unknown_by_now_is_named_by_its_label() -> None:
    explanation = explain(resolution(ITEM, evidence(has_not(FIRST))), lambda _: None)
    assert [(each.archive, each.address) for each in explanation.last.asked] == [
        (ARCHIVES_BY_LABEL[FIRST], "")
    ]


@pytest.mark.parametrize("name", all_outcomes())
def test_nothing_secret_is_shown(name: str) -> None:
    resolved = all_outcomes()[name]
    explanation = explained(resolved)
    for shown in (msgspec.json.encode(explanation).decode(), as_text(explanation)):
        for secret in (KEY, "hashed", "secret@", "192.0.2."):
            assert secret not in shown


def test_the_language_that_a_reader_prefers_is_not_shown() -> None:
    resolved = redirected()
    preference = LanguagePreference(("tlh",))
    private = replace(resolved, question=replace(resolved.question, preference=preference))
    assert explained(private) == explained(resolved)


def test_json_reads_back() -> None:
    explanation = explained(redirected())
    again = msgspec.json.decode(msgspec.json.encode(explanation), type=Explanation)
    assert again == explanation


def test_names_in_json_stay() -> None:
    told = msgspec.to_builtins(explained(redirected()))
    assert list(told) == [
        *("asked", "label", "outcome", "because", "location", "chain", "seconds", "steps"),
    ]
    assert list(told["steps"][0]) == [
        *("question", "label", "verbs", "asked", "decision", "why", "because", "next", "seconds"),
    ]
    assert list(told["steps"][0]["asked"][0]) == [
        *("archive", "name", "address", "said", "detail", "fault", "next", "seconds"),
        *("is_owner", "is_home", "is_likely", "chosen"),
    ]


GOLDEN = """\
1. 8JMKD3MGP7W/3EPGUE5!  (0.500 s)
   *  J8LNKB5R7W/3FUQHC5  first.example        has it            0.125 s  owner  leads on to \
8JMKD3MGP8W/35MMLL8
      J8LNKAN8RW/38CJJ5P  second.example:8080  does not have it  0.250 s
      LK47B6W/362SFKH     third.example        no answer         2.000 s         it is down since \
2023-11-14T22:13:20Z
   J8LNKB5R7W/3FUQHC5 chosen because it is known to have the Original; it leads on to \
8JMKD3MGP8W/35MMLL8
2. 8JMKD3MGP8W/35MMLL8!  (0.500 s)
   *  J8LNKAN8RW/38CJJ5P  second.example:8080  Original   0.062 s  home  \
http://second.example:8080/col/x
      J8LNKB5R7W/3FUQHC5  first.example        Copy       0.125 s        http://first.example/col/x
      LK47B6W/362SFKH     third.example        no answer  2.000 s        it did not answer in time
   J8LNKAN8RW/38CJJ5P chosen because the label was made where this archive is
redirect: http://second.example:8080/col/x
by way of 8JMKD3MGP7W/3EPGUE5 > 8JMKD3MGP8W/35MMLL8
1.000 s in all"""


def test_a_terminal_shows_it_in_columns() -> None:
    assert as_text(explained(redirected())) == GOLDEN


def test_a_terminal_is_not_written_to_by_strangers() -> None:
    hostile = "\x1b[2J\u202e\x07"
    heard = evidence(
        has(FIRST, State.COPY, url=f"http://x/{hostile}", fault=hostile), silent(SECOND, hostile)
    )
    shown = as_text(explained(resolution(ITEM, heard)))
    assert shown.replace("\n", "").isprintable()
    assert "\\x1b[2J" in shown


def test_a_step_at_which_nobody_was_asked_is_written_too() -> None:
    shown = as_text(explained(resolution(ITEM, evidence())))
    assert shown == (
        f"1. {ITEM}  (0.500 s)\n"
        "not-found: All archives that are in service have answered, and none has the item.\n"
        "0.500 s in all"
    )
