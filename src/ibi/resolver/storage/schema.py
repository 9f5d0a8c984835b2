"""The tables of a resolver, as the steps in `ibi.resolver.storage.migrations` leave them."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

SCHEMA: Final = sa.MetaData()
# SQLite numbers rows only in an INTEGER column; a PostgreSQL INTEGER is too small.
_NUMBER: Final = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

archive = sa.Table(
    "resolver_archive",
    SCHEMA,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("document", sa.Text, nullable=False),
)
event = sa.Table(
    "resolver_event",
    SCHEMA,
    sa.Column("number", _NUMBER, sa.Identity(), primary_key=True),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("who", sa.Text, nullable=False),
    sa.Column("act", sa.Text, nullable=False),
    sa.Column("archive", sa.Text, nullable=False),
    sa.Column("detail", sa.Text, nullable=False),
)
challenge = sa.Table(
    "resolver_challenge",
    SCHEMA,
    sa.Column("token", sa.Text, primary_key=True),
    sa.Column("service", sa.Text, nullable=False),
    sa.Column("host", sa.Text, nullable=False),
    sa.Column("administrator", sa.Text, nullable=False),
    sa.Column("made", sa.BigInteger, nullable=False),
    sa.Column("until", sa.BigInteger, nullable=False),
)
conflict = sa.Table(
    "resolver_conflict",
    SCHEMA,
    sa.Column("number", _NUMBER, sa.Identity(), primary_key=True),
    sa.Column("label", sa.Text, nullable=False),
    sa.Column("is_open", sa.Boolean, nullable=False),
    sa.Column("document", sa.Text, nullable=False),
    sa.Index("resolver_conflict_of_label", "label", "number"),
    sa.Index("resolver_conflict_open", "is_open", "number"),
)
# A row for every item whose Original was ever seen: many millions.
owner = sa.Table(
    "resolver_owner",
    SCHEMA,
    sa.Column("label", sa.Text, primary_key=True),
    sa.Column("archive", sa.Text, nullable=False),
    sa.Column("since", sa.BigInteger, nullable=False),
    sa.Column("settled", sa.Boolean, nullable=False),
    sqlite_with_rowid=False,
)
# No number is used twice, even if the last row was deleted: a late deletion by number must not hit
# a row of another process.
acknowledgment = sa.Table(
    "resolver_acknowledgment",
    SCHEMA,
    sa.Column("number", _NUMBER, sa.Identity(), primary_key=True),
    sa.Column("archive", sa.Text, nullable=False),
    sa.Column("request", sa.Text, nullable=False),
    sa.Column("acknowledgment", sa.Text, nullable=False),
    sa.Column("count", sa.BigInteger, nullable=False),
    sa.Column("since", sa.BigInteger, nullable=False),
    sa.Column("keeper", sa.Text, nullable=False, server_default=""),
    sa.Index("resolver_acknowledgment_of_keeper", "keeper", "number"),
    sqlite_autoincrement=True,
)
# Numbered without a gap by the transaction that has locked the one row of `newest`.
news = sa.Table(
    "resolver_news",
    SCHEMA,
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("archive", sa.Text, nullable=False),
    sa.Column("label", sa.Text, nullable=False),
)
newest = sa.Table(
    "resolver_newest",
    SCHEMA,
    sa.Column("one", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("number", sa.BigInteger, nullable=False),
)
process = sa.Table(
    "resolver_process",
    SCHEMA,
    sa.Column("number", _NUMBER, sa.Identity(), primary_key=True),
    sa.Column("id", sa.Text, nullable=False),
    sa.Column("beat", sa.BigInteger, nullable=False),
    sa.Column("turn", sa.BigInteger, nullable=False),
    sa.Column("gone", sa.Boolean, nullable=False),
    sa.Index("resolver_process_id", "id", unique=True),
)
duty = sa.Table(
    "resolver_duty",
    SCHEMA,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("holder", sa.Text, nullable=False),
)
# The progress of each archive's digest. A digest that began anew has another number, and dropped
# ones have no archive; no number is used twice, so that no fingerprint is taken for another's.
digest = sa.Table(
    "resolver_digest",
    SCHEMA,
    sa.Column("number", _NUMBER, sa.Identity(), primary_key=True),
    sa.Column("archive", sa.Text, nullable=False),
    sa.Column("epoch", sa.Text, nullable=False),
    sa.Column("last", sa.BigInteger, nullable=False),
    sa.Column("whole", sa.Boolean, nullable=False),
    sa.Column("confirmed", sa.BigInteger, nullable=False),
    sa.Column("count", sa.BigInteger, nullable=False),
    sa.Index("resolver_digest_of_archive", "archive"),
    sqlite_autoincrement=True,
)
# A row for every name of every item of all archives, with the columns of its key only.
holding = sa.Table(
    "resolver_holding",
    SCHEMA,
    sa.Column("fingerprint", sa.BigInteger, primary_key=True),
    sa.Column("digest", sa.BigInteger, primary_key=True),
    sqlite_with_rowid=False,
)
# The digests that stand for answers, as one process relays to the others; each with the number of
# publications until it changed.
followed = sa.Table(
    "resolver_followed",
    SCHEMA,
    sa.Column("archive", sa.Text, primary_key=True),
    sa.Column("digest", sa.BigInteger, nullable=False),
    sa.Column("count", sa.BigInteger, nullable=False),
    sa.Index("resolver_followed_count", "count"),
)
publication = sa.Table(
    "resolver_publication",
    SCHEMA,
    sa.Column("one", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("count", sa.BigInteger, nullable=False),
)
token = sa.Table(
    "resolver_token",
    SCHEMA,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("digest", sa.Text, nullable=False),
    sa.Column("scope", sa.Text, nullable=False),
    sa.Column("created", sa.BigInteger, nullable=False),
)
# People with accounts, and their signed-in browsers.
account = sa.Table(
    "resolver_account",
    SCHEMA,
    sa.Column("name", sa.Text(collation="C").with_variant(sa.Text(), "sqlite"), primary_key=True),
    sa.Column("full_name", sa.Text, nullable=False),
    sa.Column("mail", sa.Text, nullable=False),
    sa.Column("mail_key", sa.Text, unique=True),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("password", sa.Text, nullable=False),
    sa.Column("subject", sa.Text, unique=True),
    sa.Column("created", sa.BigInteger, nullable=False),
    sa.Column("changed", sa.BigInteger, nullable=False),
)
session = sa.Table(
    "resolver_session",
    SCHEMA,
    sa.Column("digest", sa.Text, primary_key=True),
    sa.Column("account", sa.Text, nullable=False),
    sa.Column("created", sa.BigInteger, nullable=False),
    sa.Column("seen", sa.BigInteger, nullable=False),
    sa.Column("agent", sa.Text, nullable=False),
    sa.Index("resolver_session_of_account", "account"),
)
# Invitations, and links for new passwords; each is removed when it is used.
account_link = sa.Table(
    "resolver_account_link",
    SCHEMA,
    sa.Column("digest", sa.Text, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("account", sa.Text, nullable=False),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("mail", sa.Text, nullable=False),
    sa.Column("made_by", sa.Text, nullable=False),
    sa.Column("created", sa.BigInteger, nullable=False),
    sa.Column("expires", sa.BigInteger, nullable=False),
)
# Up to when guesses have used up the rate of a limit.
guess = sa.Table(
    "resolver_guess",
    SCHEMA,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("until", sa.BigInteger, nullable=False),
)
# A row for each minute, hour and day of the figures over time (foundation.figures).
figure = sa.Table(
    "resolver_figure",
    SCHEMA,
    sa.Column("seconds", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("start", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("tally", sa.Text, nullable=False),
    sqlite_with_rowid=False,
)
