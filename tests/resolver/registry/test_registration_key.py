"""Registration keys: stored as hashes, and protected against guessing (threats, row 3)."""

from __future__ import annotations

import hashlib
from base64 import b64decode, b64encode
from typing import Any

import pytest

from ibi.model.archive_record import RegistrationKey
from ibi.resolver.registry.registration_key import (
    ALLOWED_BY_ARCHIVE,
    ALLOWED_BY_CLIENT,
    FAILURE_SECONDS,
    MAX_ENTRIES,
    MAX_KNOWN_CLIENTS,
    MAX_WAIT_SECONDS,
    KeyGuessLimit,
    hashed,
    issue,
    matches,
)

SECOND = 1_000_000_000
NOW = 1_700_000_000 * SECOND
KEY = RegistrationKey("1234567890")
OTHER = RegistrationKey("1234567891")
ARCHIVE = "dpi.inpe.br/banon/1999/01.09.22.14"
HOME = "150.163.34.0/24"
STRANGER = "192.0.2.0/24"


def test_an_issued_key_has_39_random_digits() -> None:
    keys = {issue().text for _ in range(2000)}
    assert len(keys) == 2000
    assert {len(key) for key in keys} == {39}
    # Each digit stands everywhere: none of the 39 is fixed, the leading ones not either.
    assert all(len({key[place] for key in keys}) == 10 for place in range(39))


def test_what_is_kept_fits_its_key_and_no_other() -> None:
    text = hashed(KEY)
    assert matches(KEY, text)
    assert not matches(OTHER, text)
    assert KEY.text not in text


def test_what_is_kept_is_scrypt_as_it_says() -> None:
    name, n, r, p, salt, derived = hashed(KEY).split("$")
    assert (name, n, r, p) == ("scrypt", "16384", "8", "1")
    expected = hashlib.scrypt(b"1234567890", salt=b64decode(salt), n=2**14, r=8, p=1, dklen=32)
    assert b64decode(derived) == expected


def test_one_key_is_never_kept_the_same_twice() -> None:
    assert hashed(KEY) != hashed(KEY)


def test_another_cost_can_be_read() -> None:
    salt = "AAAAAAAAAAAAAAAAAAAAAA=="
    derived = hashlib.scrypt(b"1234567890", salt=bytes(16), n=2**10, r=4, p=2, dklen=32)
    text = f"scrypt$1024$4$2${salt}${b64encode(derived).decode()}"
    assert matches(KEY, text)
    assert not matches(OTHER, text)


SALT_AND_HASH = "AAAAAAAAAAAAAAAAAAAAAA==$" + "A" * 43 + "="
MALFORMED = [
    "",
    "1234567890",
    "scrypt$16384$8$1$AAAA$AAAA",
    "md5$16384$8$1$" + SALT_AND_HASH,
    "scrypt$16383$8$1$" + SALT_AND_HASH,  # no power of two
    "scrypt$4194304$8$1$" + SALT_AND_HASH,  # 4 GB
    "scrypt$16384$0$1$" + SALT_AND_HASH,
    "scrypt$16384$8$1$" + SALT_AND_HASH + "\n",
    "scrypt$16384$8$1$é",
]


@pytest.mark.parametrize("text", MALFORMED)
def test_what_is_malformed_fits_nothing_and_costs_as_much(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    costs: list[tuple[int, int, int]] = []
    scrypt = hashlib.scrypt

    def counted(password: bytes, **parameters: Any) -> bytes:  # noqa: ANN401  # as they come
        derived = scrypt(password, **parameters)
        costs.append((parameters["n"], parameters["r"], parameters["p"]))
        return derived

    monkeypatch.setattr(hashlib, "scrypt", counted)
    assert not matches(KEY, text)
    assert costs == [(2**14, 8, 1)]


# Guesses


def tries(guesses: KeyGuessLimit, client: str, archive: str, now: int, count: int) -> int:
    """Try wrong keys; return how many were looked at."""
    looked_at = 0
    for _ in range(count):
        if guesses.admit(client, archive, now) == 0:
            looked_at += 1
            guesses.failed(client, archive, now)
    return looked_at


def test_of_100_000_wrong_keys_of_one_client_a_few_are_looked_at() -> None:
    assert tries(KeyGuessLimit(), STRANGER, ARCHIVE, NOW, 100_000) == ALLOWED_BY_CLIENT


def test_one_client_cannot_go_on_with_other_archives() -> None:
    guesses = KeyGuessLimit()
    looked_at = sum(tries(guesses, STRANGER, f"archive-{n}", NOW, 1) for n in range(1000))
    assert looked_at == ALLOWED_BY_CLIENT


def test_of_100_000_wrong_keys_of_as_many_clients_a_few_are_looked_at() -> None:
    guesses = KeyGuessLimit()
    looked_at = sum(tries(guesses, f"client-{n}", ARCHIVE, NOW, 1) for n in range(100_000))
    assert looked_at == ALLOWED_BY_ARCHIVE


def test_all_at_once_are_no_more_than_one_after_the_other() -> None:
    guesses = KeyGuessLimit()
    admitted = [guesses.admit(STRANGER, ARCHIVE, NOW) == 0 for _ in range(1000)]
    assert sum(admitted) == ALLOWED_BY_CLIENT
    guesses = KeyGuessLimit()
    admitted = [guesses.admit(f"client-{n}", ARCHIVE, NOW) == 0 for n in range(1000)]
    assert sum(admitted) == ALLOWED_BY_ARCHIVE


def test_who_goes_on_waits_twice_as_long_each_time_up_to_an_hour() -> None:
    guesses, now = KeyGuessLimit(), NOW
    tries(guesses, STRANGER, ARCHIVE, now, ALLOWED_BY_CLIENT)
    waits = []
    for _ in range(15):
        wait = guesses.admit(STRANGER, ARCHIVE, now)
        waits.append(wait)
        assert guesses.admit(STRANGER, ARCHIVE, now + wait * SECOND - 1) == 1
        now += wait * SECOND
        assert tries(guesses, STRANGER, ARCHIVE, now, 1) == 1
    assert waits == [
        *(2**n for n in range(12)),
        MAX_WAIT_SECONDS,
        MAX_WAIT_SECONDS,
        MAX_WAIT_SECONDS,
    ]


def test_the_wait_begins_when_the_key_was_found_wrong() -> None:
    guesses = KeyGuessLimit()
    tries(guesses, STRANGER, ARCHIVE, NOW, ALLOWED_BY_CLIENT - 1)
    assert guesses.admit(STRANGER, ARCHIVE, NOW) == 0
    guesses.failed(STRANGER, ARCHIVE, NOW + 10 * SECOND)
    assert guesses.admit(STRANGER, ARCHIVE, NOW + 10 * SECOND) == 1


def test_a_day_forgives() -> None:
    guesses = KeyGuessLimit()
    tries(guesses, STRANGER, ARCHIVE, NOW, ALLOWED_BY_CLIENT)
    later = NOW + (FAILURE_SECONDS + 1) * SECOND
    assert tries(guesses, STRANGER, ARCHIVE, later, 100) == ALLOWED_BY_CLIENT


def test_a_clock_that_was_set_back_shuts_nobody_out_for_long() -> None:
    guesses = KeyGuessLimit()
    tries(guesses, STRANGER, ARCHIVE, NOW, 100)
    assert guesses.admit(STRANGER, ARCHIVE, NOW // 2) == MAX_WAIT_SECONDS


def test_strangers_do_not_keep_an_archive_out() -> None:
    guesses = KeyGuessLimit()
    assert guesses.admit(HOME, ARCHIVE, NOW) == 0
    guesses.good(HOME, ARCHIVE)
    for n in range(1000):
        tries(guesses, f"client-{n}", ARCHIVE, NOW, 1)
    assert guesses.admit("client-1001", ARCHIVE, NOW) > 0
    assert guesses.admit(HOME, ARCHIVE, NOW) == 0


def test_an_archive_at_home_still_cannot_guess() -> None:
    guesses = KeyGuessLimit()
    guesses.admit(HOME, ARCHIVE, NOW)
    guesses.good(HOME, ARCHIVE)
    assert tries(guesses, HOME, ARCHIVE, NOW, 1000) == ALLOWED_BY_CLIENT


def test_one_at_home_is_a_stranger_to_another_archive() -> None:
    guesses = KeyGuessLimit()
    guesses.admit(HOME, "another", NOW)
    guesses.good(HOME, "another")
    for n in range(ALLOWED_BY_ARCHIVE):
        tries(guesses, f"client-{n}", ARCHIVE, NOW, 1)
    assert guesses.admit(HOME, ARCHIVE, NOW) > 0


def test_a_good_key_takes_back_its_own_try_and_no_other() -> None:
    """Else who has an archive of his own could guess the key of another for ever."""
    guesses = KeyGuessLimit()
    looked_at = 0
    for _ in range(1000):
        looked_at += tries(guesses, STRANGER, ARCHIVE, NOW, 1)
        if guesses.admit(STRANGER, "his own", NOW) == 0:
            guesses.good(STRANGER, "his own")
    assert looked_at == ALLOWED_BY_CLIENT


def test_good_keys_never_lead_to_a_wait() -> None:
    guesses = KeyGuessLimit()
    for n in range(1000):
        assert guesses.admit(HOME, f"archive-{n}", NOW) == 0
        guesses.good(HOME, f"archive-{n}")


def test_good_keys_of_strangers_leave_nothing_against_an_archive() -> None:
    guesses = KeyGuessLimit()
    for n in range(10 * ALLOWED_BY_ARCHIVE):
        assert guesses.admit(f"client-{n}", ARCHIVE, NOW) == 0
        guesses.good(f"client-{n}", ARCHIVE)


def test_what_is_remembered_has_a_bound() -> None:
    guesses = KeyGuessLimit()
    for n in range(MAX_ENTRIES + 100):
        guesses.admit(f"home-{n}", f"good-{n}", NOW)
        guesses.good(f"home-{n}", f"good-{n}")
    for n in range(MAX_ENTRIES + 100):
        tries(guesses, f"client-{n}", f"archive-{n}", NOW, 1)
    assert len(guesses) == 3 * MAX_ENTRIES


def test_those_that_failed_longest_ago_are_forgotten_first() -> None:
    guesses = KeyGuessLimit()
    tries(guesses, "new", "archive-b", NOW, ALLOWED_BY_CLIENT - 1)
    tries(guesses, "old", "archive-a", NOW, 100)
    for n in range(MAX_ENTRIES - 2):
        tries(guesses, f"client-{n}", f"archive-{n}", NOW, 1)
    # The last failure of this one makes it the newest, and the next one drives out the oldest.
    tries(guesses, "new", "archive-b", NOW, 1)
    tries(guesses, "another", "archive-c", NOW, 1)
    assert guesses.admit("new", "archive-b", NOW) > 0
    assert guesses.admit("old", "archive-d", NOW) == 0


def test_an_archive_has_few_homes_the_newest() -> None:
    guesses = KeyGuessLimit()
    for n in range(MAX_KNOWN_CLIENTS + 1):
        guesses.admit(f"home-{n}", ARCHIVE, NOW)
        guesses.good(f"home-{n}", ARCHIVE)
    for n in range(ALLOWED_BY_ARCHIVE):
        tries(guesses, f"client-{n}", ARCHIVE, NOW, 1)
    assert guesses.admit("home-0", ARCHIVE, NOW) > 0
    assert all(
        guesses.admit(f"home-{n}", ARCHIVE, NOW) == 0 for n in range(1, MAX_KNOWN_CLIENTS + 1)
    )
