"""The tables of a resolver, as the steps in `ibi.migrations` leave them."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

SCHEMA: Final = sa.MetaData()
# SQLite numbers rows by itself only in an INTEGER, PostgreSQL runs out of them in one.
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
# No number comes twice, also when the last row was forgotten: whoever was told to forget a number
# late must not meet another's row.
acknowledgment = sa.Table(
    "resolver_acknowledgment",
    SCHEMA,
    sa.Column("number", _NUMBER, sa.Identity(), primary_key=True),
    sa.Column("archive", sa.Text, nullable=False),
    sa.Column("request", sa.Text, nullable=False),
    sa.Column("acknowledgment", sa.Text, nullable=False),
    sa.Column("count", sa.BigInteger, nullable=False),
    sa.Column("since", sa.BigInteger, nullable=False),
    sqlite_autoincrement=True,
)
token = sa.Table(
    "resolver_token",
    SCHEMA,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("digest", sa.Text, nullable=False),
    sa.Column("scope", sa.Text, nullable=False),
    sa.Column("created", sa.BigInteger, nullable=False),
)
