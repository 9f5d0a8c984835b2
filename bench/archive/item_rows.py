# ruff: noqa: S608  # all that these statements are made of stands here
"""Very many items in a catalogue: rows as the archive itself writes them, made by the database.

The archive's own way takes milliseconds for each item, which is days for ten million. So the tables
are those of the archive, and what is in them is made by SQL: labels as minting writes them, and
documents as the archive does. Only the fingerprints of the digest are random numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ibi.identifier.ibip import Ibip
from ibi.identifier.instant import EPOCH, Instant
from ibi.identifier.numerals import IBIP
from ibi.identifier.repository_name import RepositoryName

HOST, IP = "archive.example.org", "150.163.34.243"
_PORT, _IP_PORT = 80, 800
_FIRST = 1_000_000_000
_DIGITS = 6
"""Of the seconds in an IBIp, of all these labels."""
_PART = 250_000
"""Labels that one statement makes."""
_WHOLE = 2**62
"""What `archive_epoch.filled` has of a log that lacks nothing."""

TABLES = ("archive_item", "archive_name", "archive_file", "archive_digest")

Execute = Callable[[str], object]

# The forms of an item, `m`, and of its partner, `o`: each the one of two that follow each other.
_FORMS = "'rep ' || {0}.rep || ' ibip ' || {0}.ibip"
_TIMES = '"created":1000000000000000000,"updated":1000000000000000000'
_DATA = (
    f"""'{{"version":1,"forms":"' || {_FORMS.format("m")} || '","language":"en","""
    f""""target":"report.pdf",{_TIMES},"metadata":"' || {_FORMS.format("o")} || '"}}'"""
)
_DESCRIBING = (
    f"""'{{"version":1,"forms":"' || {_FORMS.format("m")} || '","kind":"metadata","""
    f""""target":"metadata",{_TIMES},"describes":"' || {_FORMS.format("o")} || '","record":"""
    """{"titles":[{"value":"Report ' || m.k || '","language":"en"}]}}'"""
)
_ITEMS = (
    "INSERT INTO archive_item (id, label, kind, state, version, document) "
    "SELECT 10 + m.k, m.rep, CASE m.k % 2 WHEN 0 THEN 'data' ELSE 'metadata' END, 'Original', 1, "
    f"CASE m.k % 2 WHEN 0 THEN {_DATA} ELSE {_DESCRIBING} END "
    "FROM made AS m JOIN made AS o ON o.k = m.k + 1 - 2 * (m.k % 2) ORDER BY m.k"
)
_NAMES = (
    "INSERT INTO archive_name (name, item) SELECT rep, 10 + k FROM made ORDER BY k",
    "INSERT INTO archive_name (name, item) SELECT ibip, 10 + k FROM made ORDER BY k",
)
_FILES = (
    "INSERT INTO archive_file (item, path, size, sha256, sha512, modified, media_type) SELECT "
    f"10 + k, 'report.pdf', 1000, '{'0' * 64}', '{'0' * 128}', 0, '' FROM made WHERE k % 2 = 0"
)
_ROWS = 2**30
"""After which number of the digest's log rows are written: the archive's own has one below it."""
_DIGEST = (
    f"INSERT INTO archive_digest (number, names, held) SELECT {_ROWS} + k, {{octets}}, true "
    "FROM made"
)


def labels(number: int) -> tuple[str, str]:
    """Return both labels of a number: even ones are items, odd ones describe the one before."""
    instant = Instant(_FIRST + number)
    return (
        RepositoryName.mount(HOST, _PORT, instant).spelling,
        Ibip.mount(IP, _IP_PORT, instant).spelling,
    )


class ItemRows:
    """Statements that fill a catalogue."""

    def __init__(self, numbers: str, day: str, octets: str) -> None:
        """Say what the two databases have different words for.

        `numbers` is a query of the numbers `k` from {start} to before {stop}; `day` writes the
        seconds {t} as a repository name does, but for the seconds; `octets` makes twelve octets
        of {k}.
        """
        self._numbers = numbers
        self._day = day
        self._octets = octets

    def fill(self, execute: Execute, items: int, said: Callable[[int], None]) -> None:
        """Write items, each with one file and with another item that describes it."""
        for statement in self.statements(items, said):
            execute(statement)

    def statements(self, items: int, said: Callable[[int], None]) -> Iterator[str]:
        """Yield what writes them, one part after the other; all in one session."""
        yield "CREATE TEMPORARY TABLE made (k INTEGER PRIMARY KEY, rep TEXT, ibip TEXT)"
        for start in range(0, 2 * items, _PART):
            stop = min(start + _PART, 2 * items)
            numbers = self._numbers.format(start=start, stop=stop)
            yield "DELETE FROM made"
            yield f"INSERT INTO made SELECT k, {self._rep}, {self._ibip} FROM ({numbers}) AS n"
            yield from (_ITEMS, *_NAMES, _FILES, _DIGEST.format(octets=self._octets))
            said(stop // 2)
        yield "DROP TABLE made"
        yield f"UPDATE archive_epoch SET last = {_ROWS + 2 * items - 1}, filled = {_WHOLE}"

    @property
    def _rep(self) -> str:
        prefix = labels(0)[0].rpartition("/")[0].rpartition("/")[0]
        seconds = f"({_FIRST} + k)"
        second = f"({seconds} % 60)"
        padded = f"CASE WHEN {second} < 10 THEN '.0' ELSE '.' END || {second}"
        shown = f"CASE WHEN {second} = 0 THEN '' ELSE {padded} END"
        return f"'{prefix}/' || {self._day.format(t=seconds)} || {shown}"

    @property
    def _ibip(self) -> str:
        prefix = labels(0)[1].partition("/")[0]
        digits = " || ".join(
            f"substr('{IBIP.digits}', 1 + ({_FIRST - EPOCH.seconds} + k) / {IBIP.base**place} "
            f"% {IBIP.base}, 1)"
            for place in reversed(range(_DIGITS))
        )
        return f"'{prefix}/' || {digits}"


ON_SQLITE = ItemRows(
    "WITH RECURSIVE counted(k) AS (SELECT {start} UNION ALL SELECT k + 1 FROM counted "
    "WHERE k + 1 < {stop}) SELECT k FROM counted",
    "strftime('%Y/%m.%d.%H.%M', {t}, 'unixepoch')",
    "randomblob(12)",
)
ON_POSTGRESQL = ItemRows(
    "SELECT generate_series({start}, {stop} - 1) AS k",
    "to_char(to_timestamp({t}) AT TIME ZONE 'UTC', 'YYYY/MM.DD.HH24.MI')",
    "decode(substr(md5(k::text), 1, 24), 'hex')",
)
