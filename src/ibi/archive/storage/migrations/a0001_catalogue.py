"""The tables of the catalogue."""

from __future__ import annotations

import secrets

import sqlalchemy as sa
from alembic import op

revision = "a0001"
down_revision = None
branch_labels = None


def upgrade() -> None:
    """Create all tables, and begin the first epoch of the digest."""
    ordered = sa.Text(collation="C").with_variant(sa.Text(), "sqlite")
    op.create_table(
        "archive_access",
        sa.Column("item", sa.BigInteger(), nullable=False),
        sa.Column("day", ordered, nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("item", "day"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "archive_deposit",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("opened", sa.BigInteger(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("completed", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "archive_file",
        sa.Column("item", sa.BigInteger(), nullable=False),
        sa.Column("path", ordered, nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("sha512", sa.Text(), nullable=False),
        sa.Column("modified", sa.BigInteger(), nullable=False),
        sa.Column("media_type", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("item", "path"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "archive_history",
        sa.Column(
            "number",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            sa.Identity(always=False),
            nullable=False,
        ),
        sa.Column("change", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("act", sa.Text(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("number"),
        sa.UniqueConstraint("change"),
    )
    op.create_index(
        "archive_history_of_label", "archive_history", ["label", "number"], unique=False
    )
    op.create_table(
        "archive_item",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            sa.Identity(always=False),
            nullable=False,
        ),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("label"),
    )
    op.create_index("archive_item_of_kind", "archive_item", ["kind", "id"], unique=False)
    op.create_table(
        "archive_link",
        sa.Column("resolver", sa.Text(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("resolver"),
    )
    op.create_table(
        "archive_name",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("item", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("name"),
        sqlite_with_rowid=False,
    )
    op.create_index("archive_name_of_item", "archive_name", ["item"])
    op.create_table(
        "archive_reservation",
        sa.Column("label", ordered, nullable=False),
        sa.Column("short", sa.Text(), nullable=False),
        sa.Column("forms", sa.Text(), nullable=False),
        sa.Column("reserved", sa.BigInteger(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("label"),
        sa.UniqueConstraint("short"),
    )
    op.create_table(
        "archive_setting",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "archive_token",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "archive_used_key",
        sa.Column("issued", sa.BigInteger(), nullable=False),
        sa.Column("nonce", sa.BigInteger(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("issued", "nonce"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "archive_task",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("begun", sa.BigInteger(), nullable=False),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("done", sa.BigInteger(), nullable=False),
        sa.Column("total", sa.BigInteger(), nullable=False),
        sa.Column("place", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("result", sa.Text(), nullable=False),
        sa.Column("ended", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("archive_task_of_kind", "archive_task", ["kind", "begun"])
    op.create_table(
        "archive_exchange",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("peer", sa.Text(), nullable=False),
        sa.Column("secret", sa.Text(), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("fault", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("archive_exchange_of_state", "archive_exchange", ["state", "since"])
    op.create_table(
        "archive_copy",
        sa.Column("label", ordered, nullable=False),
        sa.Column("checked", sa.BigInteger(), nullable=False),
        sa.Column("missing", sa.BigInteger(), nullable=False),
        sa.Column("fault", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("label"),
    )
    op.create_index("archive_copy_checked", "archive_copy", ["checked"])
    op.create_table(
        "archive_damage",
        sa.Column("label", ordered, nullable=False),
        sa.Column("path", ordered, nullable=False),
        sa.Column("found", sa.BigInteger(), nullable=False),
        sa.Column("what", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("label", "path"),
    )
    # The digest is not filled here: the archive fills it in parts while it serves.
    op.create_table(
        "archive_digest",
        sa.Column(
            "number",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("names", sa.LargeBinary(), nullable=False),
        sa.Column("held", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("number"),
    )
    epoch = op.create_table(
        "archive_epoch",
        sa.Column("epoch", sa.Text(), nullable=False),
        sa.Column("last", sa.BigInteger(), nullable=False),
        sa.Column("filled", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("epoch"),
    )
    op.bulk_insert(epoch, [{"epoch": secrets.token_hex(16), "last": 0, "filled": 0}])
