"""The tables of an archive's catalogue, as the steps in `storage.migrations` leave them."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

SCHEMA: Final = sa.MetaData()
# SQLite numbers rows by itself only in an INTEGER, whose range in PostgreSQL is too small.
_NUMBER: Final = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

item = sa.Table(
    "archive_item",
    SCHEMA,
    sa.Column("id", _NUMBER, sa.Identity(), primary_key=True),
    sa.Column("label", sa.Text, nullable=False, unique=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("document", sa.Text, nullable=False),
    sa.Index("archive_item_of_kind", "kind", "id"),
)
# Every name that was ever assigned stays here, so that none is assigned twice; `item` is NULL while
# a label is only reserved.
name = sa.Table(
    "archive_name",
    SCHEMA,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("item", sa.BigInteger),
    sa.Index("archive_name_of_item", "item"),
    sqlite_with_rowid=False,
)
file = sa.Table(
    "archive_file",
    SCHEMA,
    sa.Column("item", sa.BigInteger, primary_key=True),
    sa.Column("path", sa.Text(collation="C").with_variant(sa.Text(), "sqlite"), primary_key=True),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("sha256", sa.Text, nullable=False),
    sa.Column("sha512", sa.Text, nullable=False),
    sa.Column("modified", sa.BigInteger, nullable=False),
    sa.Column("media_type", sa.Text, nullable=False),
    sa.Index("archive_file_of_sha256", "sha256", "item", "path"),
    sqlite_with_rowid=False,
)
history = sa.Table(
    "archive_history",
    SCHEMA,
    sa.Column("number", _NUMBER, sa.Identity(), primary_key=True),
    sa.Column("change", sa.Text, nullable=False, unique=True),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("who", sa.Text, nullable=False),
    sa.Column("act", sa.Text, nullable=False),
    sa.Column("label", sa.Text, nullable=False),
    sa.Column("detail", sa.Text, nullable=False),
    sa.Index("archive_history_of_label", "label", "number"),
)
deposit = sa.Table(
    "archive_deposit",
    SCHEMA,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("opened", sa.BigInteger, nullable=False),
    sa.Column("who", sa.Text, nullable=False),
    sa.Column("request", sa.Text, nullable=False),
    sa.Column("completed", sa.Text, nullable=False),
)
# Deposits in the making; the deposit of the same id has the files.
draft = sa.Table(
    "archive_draft",
    SCHEMA,
    sa.Column("id", sa.Text(collation="C").with_variant(sa.Text(), "sqlite"), primary_key=True),
    sa.Column("owner", sa.Text, nullable=False),
    sa.Column("label", sa.Text, unique=True),
    sa.Column("forms", sa.Text, nullable=False),
    sa.Column("purpose", sa.Text, nullable=False),
    sa.Column("fields", sa.Text, nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("opened", sa.BigInteger, nullable=False),
    sa.Column("changed", sa.BigInteger, nullable=False),
    sa.Index("archive_draft_of_owner", "owner", "changed"),
    sa.Index("archive_draft_of_state", "state", "changed"),
)
draft_comment = sa.Table(
    "archive_draft_comment",
    SCHEMA,
    sa.Column("draft", sa.Text, primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("who", sa.Text, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
)
reservation = sa.Table(
    "archive_reservation",
    SCHEMA,
    sa.Column("label", sa.Text(collation="C").with_variant(sa.Text(), "sqlite"), primary_key=True),
    sa.Column("short", sa.Text, nullable=False, unique=True),
    sa.Column("forms", sa.Text, nullable=False),
    sa.Column("reserved", sa.BigInteger, nullable=False),
    sa.Column("who", sa.Text, nullable=False),
    sa.Column("note", sa.Text, nullable=False),
)
# `count` is of redirects that resolvers acknowledged; views and downloads are counted here.
access = sa.Table(
    "archive_access",
    SCHEMA,
    sa.Column("item", sa.BigInteger, primary_key=True),
    sa.Column("day", sa.Text(collation="C").with_variant(sa.Text(), "sqlite"), primary_key=True),
    sa.Column("count", sa.BigInteger, nullable=False),
    sa.Column("views", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("downloads", sa.BigInteger, nullable=False, server_default="0"),
    sqlite_with_rowid=False,
)
used_key = sa.Table(
    "archive_used_key",
    SCHEMA,
    sa.Column("issued", sa.BigInteger, primary_key=True),
    sa.Column("nonce", sa.BigInteger, primary_key=True),
    sa.Column("until", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
token = sa.Table(
    "archive_token",
    SCHEMA,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("digest", sa.Text, nullable=False),
    sa.Column("scope", sa.Text, nullable=False),
    sa.Column("created", sa.BigInteger, nullable=False),
)
# People with accounts, and their signed-in browsers.
account = sa.Table(
    "archive_account",
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
    "archive_session",
    SCHEMA,
    sa.Column("digest", sa.Text, primary_key=True),
    sa.Column("account", sa.Text, nullable=False),
    sa.Column("created", sa.BigInteger, nullable=False),
    sa.Column("seen", sa.BigInteger, nullable=False),
    sa.Column("agent", sa.Text, nullable=False),
    sa.Index("archive_session_of_account", "account"),
)
# Invitations, and links for new passwords; each is removed when it is used.
account_link = sa.Table(
    "archive_account_link",
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
    "archive_guess",
    SCHEMA,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("until", sa.BigInteger, nullable=False),
)
setting = sa.Table(
    "archive_setting",
    SCHEMA,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)
link = sa.Table(
    "archive_link",
    SCHEMA,
    sa.Column("resolver", sa.Text, primary_key=True),
    sa.Column("document", sa.Text, nullable=False),
)
task = sa.Table(
    "archive_task",
    SCHEMA,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("who", sa.Text, nullable=False),
    sa.Column("begun", sa.BigInteger, nullable=False),
    sa.Column("request", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("done", sa.BigInteger, nullable=False),
    sa.Column("total", sa.BigInteger, nullable=False),
    sa.Column("place", sa.Text, nullable=False),
    sa.Column("note", sa.Text, nullable=False),
    sa.Column("result", sa.Text, nullable=False),
    sa.Column("ended", sa.BigInteger, nullable=False),
    sa.Index("archive_task_of_kind", "kind", "begun"),
)
# The transfers in which this archive takes part, with their secrets, which no item may contain.
exchange = sa.Table(
    "archive_exchange",
    SCHEMA,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("label", sa.Text, nullable=False),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("peer", sa.Text, nullable=False),
    sa.Column("secret", sa.Text, nullable=False),
    sa.Column("since", sa.BigInteger, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("fault", sa.Text, nullable=False),
    sa.Index("archive_exchange_of_state", "state", "since"),
)
# Copies, and when their Originals were last checked.
copy = sa.Table(
    "archive_copy",
    SCHEMA,
    sa.Column("label", sa.Text(collation="C").with_variant(sa.Text(), "sqlite"), primary_key=True),
    sa.Column("checked", sa.BigInteger, nullable=False),
    sa.Column("missing", sa.BigInteger, nullable=False),
    sa.Column("fault", sa.Text, nullable=False),
    sa.Index("archive_copy_checked", "checked"),
)
# Other archives that hold an item, and when that was last verified.
holder = sa.Table(
    "archive_holder",
    SCHEMA,
    sa.Column("label", sa.Text, primary_key=True),
    sa.Column("address", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("seen", sa.BigInteger, nullable=False),
)
# Files that an audit found damaged, until they are repaired.
damage = sa.Table(
    "archive_damage",
    SCHEMA,
    sa.Column("label", sa.Text(collation="C").with_variant(sa.Text(), "sqlite"), primary_key=True),
    sa.Column("path", sa.Text(collation="C").with_variant(sa.Text(), "sqlite"), primary_key=True),
    sa.Column("found", sa.BigInteger, nullable=False),
    sa.Column("what", sa.Text, nullable=False),
)
# A row for every change of an item, with the concatenated fingerprints of its names.
digest = sa.Table(
    "archive_digest",
    SCHEMA,
    sa.Column("number", _NUMBER, primary_key=True, autoincrement=False),
    sa.Column("names", sa.LargeBinary, nullable=False),
    sa.Column("held", sa.Boolean, nullable=False),
)
# One row: the last number of the digest, and the item up to which it was filled.
epoch = sa.Table(
    "archive_epoch",
    SCHEMA,
    sa.Column("epoch", sa.Text, primary_key=True),
    sa.Column("last", sa.BigInteger, nullable=False),
    sa.Column("filled", sa.BigInteger, nullable=False),
)
# What the search shows and counts of each item; its terms are in `archive_search_text`, a table
# that each database has in its own form (storage.catalogue.search_text).
search = sa.Table(
    "archive_search",
    SCHEMA,
    sa.Column("item", _NUMBER, primary_key=True, autoincrement=False),
    sa.Column("heading", sa.Text, nullable=False),
    sa.Column("facets", sa.Text, nullable=False),
    sa.Column("digest", sa.LargeBinary, nullable=False),
)
# The number of items with each value of a facet.
facet = sa.Table(
    "archive_facet",
    SCHEMA,
    sa.Column("facet", sa.Text(collation="C").with_variant(sa.Text(), "sqlite"), primary_key=True),
    sa.Column("place", sa.Text(collation="C").with_variant(sa.Text(), "sqlite"), primary_key=True),
    sa.Column("value", sa.Text(collation="C").with_variant(sa.Text(), "sqlite"), primary_key=True),
    sa.Column("count", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
# One row: the version of the indexed terms, and the item up to which the index was filled.
search_state = sa.Table(
    "archive_search_state",
    SCHEMA,
    sa.Column("rules", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("filled", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
# What came on a day and still exists, and the accesses of the day (storage.catalogue.day_counts).
day = sa.Table(
    "archive_day",
    SCHEMA,
    sa.Column("day", sa.Text(collation="C").with_variant(sa.Text(), "sqlite"), primary_key=True),
    sa.Column("items", sa.BigInteger, nullable=False),
    sa.Column("files", sa.BigInteger, nullable=False),
    sa.Column("bytes", sa.BigInteger, nullable=False),
    sa.Column("accesses", sa.BigInteger, nullable=False),
    sa.Column("views", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("downloads", sa.BigInteger, nullable=False, server_default="0"),
    sqlite_with_rowid=False,
)
# One row: the item up to which the days count.
day_state = sa.Table(
    "archive_day_state",
    SCHEMA,
    sa.Column("filled", sa.BigInteger, primary_key=True, autoincrement=False),
    sqlite_with_rowid=False,
)
# What was extracted of the files of items, once for equal files of an item; the text is compressed.
text = sa.Table(
    "archive_text",
    SCHEMA,
    sa.Column("item", sa.BigInteger, primary_key=True),
    sa.Column("sha256", sa.Text, primary_key=True),
    sa.Column("outcome", sa.Text, nullable=False),
    sa.Column("characters", sa.BigInteger, nullable=False),
    sa.Column("text", sa.LargeBinary, nullable=False),
)
# A picture of the first page of each PDF of an item; empty if there can be none.
picture = sa.Table(
    "archive_picture",
    SCHEMA,
    sa.Column("item", sa.BigInteger, primary_key=True),
    sa.Column("sha256", sa.Text, primary_key=True),
    sa.Column("image", sa.LargeBinary, nullable=False),
)
# Items whose files wait to be extracted and indexed, with a number of their last change.
text_queue = sa.Table(
    "archive_text_queue",
    SCHEMA,
    sa.Column("item", _NUMBER, primary_key=True, autoincrement=False),
    sa.Column("turn", sa.BigInteger, nullable=False),
)
# One row: the version of the indexed terms, and the item up to which items began to wait. The terms
# of files are in `archive_file_terms` (storage.catalogue.search_text).
text_state = sa.Table(
    "archive_text_state",
    SCHEMA,
    sa.Column("rules", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("filled", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
# A row for each minute, hour and day of the figures over time (foundation.figures).
figure = sa.Table(
    "archive_figure",
    SCHEMA,
    sa.Column("seconds", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("start", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("tally", sa.Text, nullable=False),
    sqlite_with_rowid=False,
)
# The last change of each published item; a change gives the row of its item a new number.
harvest = sa.Table(
    "archive_harvest",
    SCHEMA,
    sa.Column("label", sa.Text(collation="C").with_variant(sa.Text(), "sqlite"), primary_key=True),
    sa.Column("number", sa.BigInteger, nullable=False, unique=True),
    sa.Column("stamp", sa.BigInteger, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("deleted", sa.Boolean, nullable=False),
    sa.Column("sets", sa.Text, nullable=False),
    sa.Column("digest", sa.LargeBinary, nullable=False),
    sa.Index("archive_harvest_by_time", "stamp", "number"),
)
# The rows of `archive_harvest` that are in each set.
harvest_set = sa.Table(
    "archive_harvest_set",
    SCHEMA,
    sa.Column("spec", sa.Text(collation="C").with_variant(sa.Text(), "sqlite"), primary_key=True),
    sa.Column("stamp", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sqlite_with_rowid=False,
)
# One row: the last number and the last second given, and the item up to which the log was filled.
harvest_state = sa.Table(
    "archive_harvest_state",
    SCHEMA,
    sa.Column("epoch", sa.Text, primary_key=True),
    sa.Column("last", sa.BigInteger, nullable=False),
    sa.Column("stamp", sa.BigInteger, nullable=False),
    sa.Column("filled", sa.BigInteger, nullable=False),
)
