"""Any label: clean-ups, strictness, errors, did-you-mean."""

from __future__ import annotations

import pickle

import pytest

from ibi import Instant, LabelError, parse, read
from ibi.errors import IbipError, LegacyLabelError, RepositoryNameError
from ibi.identifier.cleanup import CleanUp

NAME = "sid.inpe.br/mtc-m18@80/2009/02.16.17.46"
IBIP = "8JMKD3MGP8W/34PGRBS"
LEGACY = "6qtX3pFwXQZ3P8SECKy/Gk4Ky"
NOW = Instant(1_794_700_800)  # November 2026


@pytest.mark.parametrize("label", [NAME, IBIP, LEGACY])
@pytest.mark.parametrize(
    ("around", "clean_ups"),
    [
        ("{}", []),
        ("  {}\n", ["space-around"]),
        ("\ufeff{}\u200b", ["space-around"]),
        ("<{}>", ["angle-brackets"]),
        ("{}.", ["final-punctuation"]),
        ("{},", ["final-punctuation"]),
        (" <{}>. ", ["space-around", "final-punctuation", "angle-brackets"]),
        ("http://urlib.net/{}", ["resolver-address"]),
        ("HTTPS://urlib.net:8443/{}", ["resolver-address"]),
        ("urlib.net/{}", ["resolver-address"]),
        ("localhost:8800/{}", ["resolver-address"]),
        ("/{}", ["resolver-address"]),
        ("http://urlib.net/ibi/{}", ["resolver-address", "ibi-prefix"]),
        ("http://urlib.net/rep/{}", ["resolver-address", "ibi-prefix"]),
        ("ibi:{}", ["ibi-prefix"]),
        ("ibi/{}", ["ibi-prefix"]),
        ("upn:{}", ["ibi-prefix"]),
        ("IBI: {}", ["space-inside", "ibi-prefix"]),
        ("{}%3A", ["percent-encoding", "url-tail"]),
        ("{}%21", ["percent-encoding", "url-tail"]),
        ("{}!:(oai_dc)", ["url-tail"]),
        ("{}/doc/file.pdf?x=1", ["url-tail"]),
        ("{}#page=2", ["url-tail"]),
        ("IBI: <{}>", ["angle-brackets", "space-inside", "ibi-prefix"]),
        (
            "ibi:<http://urlib.net/{}>.",
            ["final-punctuation", "angle-brackets", "ibi-prefix", "resolver-address"],
        ),
        ("ibi:http://urlib.net/{}", ["ibi-prefix", "resolver-address"]),
    ],
)
def test_what_surrounds_a_label_is_cleaned_up_and_reported(
    label: str, around: str, clean_ups: list[str]
) -> None:
    text = around.format(label)
    reading = read(text)
    assert str(reading.label) == label
    assert [str(clean_up) for clean_up in reading.cleaned] == clean_ups
    if clean_ups:
        with pytest.raises(LabelError):
            parse(text, strict=True)


@pytest.mark.parametrize(
    ("text", "clean_ups"),
    [
        ("sid.inpe.br/mtc-m18%4080/2009/02.16.17.46", ["percent-encoding"]),
        ("sid.inpe.br/ mtc-m18@80/\n2009/02.16. 17.46", ["space-inside"]),
        ("sid.inpe.br/mtc-m18@80/20\u00ad09/02.16.17.46", ["space-inside"]),
        ("sid.inpe.br/mtc-m18@80/2009/02.16.17.46-NTC", ["report-type"]),
        ("sid.inpe.br/mtc-m18@80/2009/02.16.17.46-TDI.", ["final-punctuation", "report-type"]),
    ],
)
def test_what_pervades_a_name_is_cleaned_up_and_reported(text: str, clean_ups: list[str]) -> None:
    reading = read(text)
    assert str(reading.label) == NAME
    assert [str(clean_up) for clean_up in reading.cleaned] == clean_ups


def test_every_clean_up_has_a_sentence_for_people() -> None:
    assert all(clean_up.sentence for clean_up in CleanUp)


def test_the_longest_match_is_taken() -> None:
    path = read("LK47B6W/362SFKH/2009/report.pdf")
    assert (str(path.label), path.tail) == ("LK47B6W/362SFKH", "/2009/report.pdf")
    # A path that makes a repository name of the whole is none.
    assert parse("LK47B6W/362SFKH/2009/09.09.22.01").kind == "rep"
    fraction = read("sid.inpe.br/mtc-m18/2009/02.16.17.46.05.25/x")
    assert fraction.label.instant.fraction == "25"


@pytest.mark.parametrize(
    ("text", "error", "position"),
    [
        ("", LabelError, 0),
        ("   ", LabelError, 0),
        ("hello", LabelError, 5),
        ("hello world", LabelError, 11),
        ("http://urlib.net/", LabelError, 17),
        ("http://urlib.net/8JMKD3MGPOW/34PGRBS", IbipError, 26),
        ("urlib.net/8JMKD3MGPOW/34PGRBS", IbipError, 19),
        ("<8JMK D3MGPOW/34PGRBS>", IbipError, 11),
        ("ibi:8JMKD3MGP8W/34PGRBSx!", IbipError, 23),
        ("urlib.net/sid.inpe.br/mtc-m18/2009/02.30.17.46", RepositoryNameError, 38),
        ("sid.inpe.br/mtc-m18/2009/02.30.17.46", RepositoryNameError, 28),
        ("https://urlib.net/ibi/sid.inpe.br/m/2009/02.16.17.466", RepositoryNameError, 50),
        ("6qtX3pFwXQZ3P8SECKy/Gk0Ky", LegacyLabelError, 22),
        ("8JMKD3MGP8W/34PGRBS 8JMKD3MGP8W/34PGRBS", IbipError, 31),
        ("x" * 8193, LabelError, 8192),
        ("http://urlib.net/LK47B6W/36ZSFKH/doc/x.pdf", IbipError, 27),
        ("urlib.net/8IMKD3MGP7W/3EPGUE5/a.pdf", IbipError, 11),
        ("sid.inpe.br/mtc-m18/2009/02.16.17.46;", LabelError, 36),
        ("sid.inpe.br/mtc-m18/2009/02.16.17.46-TDIX", LabelError, 36),
        ("1.a.1/x/2009/01.01.01.01", RepositoryNameError, 4),
    ],
)
def test_an_error_points_into_the_text_that_was_given(
    text: str, error: type[LabelError], position: int
) -> None:
    with pytest.raises(error) as caught:
        parse(text)
    assert type(caught.value) is error
    assert (caught.value.text, caught.value.position) == (text, position)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("8JMKD3MGP8W/34PGRB0", ("8JMKD3MGP8W/34PGRBQ",)),
        ("8IMKD3MGP8W/34PGRBS", ("8JMKD3MGP8W/34PGRBS",)),
        ("http://urlib.net/8IMKD3MGP8W/34PGRBS!", ("8JMKD3MGP8W/34PGRBS",)),
        ("BJMKD3MGP8W/34PGRBS", ("8JMKD3MGP8W/34PGRBS",)),
        ("sid.inpe.br/mtc-m18/2O09/02.16.17.46", ("sid.inpe.br/mtc-m18/2009/02.16.17.46",)),
        ("sid.inpe.br/mtc-m18/2009/02.I6.17.46", ("sid.inpe.br/mtc-m18/2009/02.16.17.46",)),
        ("LK47B6W/36ZSFKH/doc/x.pdf", ("LK47B6W/362SFKH",)),
        ("sid.inpe.br/mtc-m21d/2022/O8.25.11.46-NTC", ("sid.inpe.br/mtc-m21d/2022/08.25.11.46",)),
        ("8JMKD3MGP8V/34PGRBS", ()),  # nothing looks like V
        ("8IMKD3MGP8W/34PGRB0", ()),  # two repairs
        ("8JMKD3MGP8W/34PGRBSI", ()),  # the repair gives a date that has not come
        ("6qtX3pFwXQZ3P8SECKy/Gk0Ky", ()),  # legacy labels are not guessed
    ],
)
@pytest.mark.parametrize("strict", [False, True])
def test_did_you_mean_needs_one_repair_over_look_alikes(
    text: str, meant: tuple[str, ...], *, strict: bool
) -> None:
    if strict and ("://" in text or "/doc/" in text or "-NTC" in text):
        meant = ()
    with pytest.raises(LabelError) as caught:
        parse(text, strict=strict, now=NOW)
    assert caught.value.suggestions == meant
    assert ("Did you mean" in str(caught.value)) == bool(meant)


def test_a_suggestion_may_lie_in_the_future_only_if_nobody_says_what_time_it_is() -> None:
    text = "8JMKD3MGP8W/34PGRBSI"
    with pytest.raises(LabelError, match="Did you mean 8JMKD3MGP8W/34PGRBSJ"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "position"),
    [(" LK47B6W/362SFKH", 0), ("http://urlib.net/LK47B6W/362SFKH", 0), ("LK47B6W/362SFKH!", 15)],
)
def test_a_strict_reading_says_which_label_it_would_have_taken(text: str, position: int) -> None:
    with pytest.raises(LabelError, match="expected the label alone") as caught:
        parse(text, strict=True)
    assert caught.value.suggestions == ("LK47B6W/362SFKH",)
    assert caught.value.position == position


def test_a_message_is_one_short_line_without_control_characters() -> None:
    with pytest.raises(LabelError) as caught:
        parse("8JMKD3MGP8W/34PGRBS\x1b[31m\r\n" + "x" * 500)
    message = str(caught.value)
    assert message.isprintable()
    assert len(message) < 400


def test_an_error_survives_pickling() -> None:
    with pytest.raises(LabelError) as caught:
        parse("8JMKD3MGP8W/34PGRB0")
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301  # our own bytes
    assert str(again) == str(caught.value)
    assert type(again) is IbipError
