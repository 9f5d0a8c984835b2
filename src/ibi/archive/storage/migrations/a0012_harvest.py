"""The tables of the log of published items; the archive fills them in parts while it serves."""

from __future__ import annotations

import secrets

import sqlalchemy as sa
from alembic import op

revision = "a0012"
down_revision = "a0011"
branch_labels = None


def upgrade() -> None:
    """Create the tables, and begin the log."""
    ordered = sa.Text(collation="C").with_variant(sa.Text(), "sqlite")
    op.create_table(
        "archive_harvest",
        sa.Column("label", ordered, nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("stamp", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("deleted", sa.Boolean(), nullable=False),
        sa.Column("sets", sa.Text(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("label"),
        sa.UniqueConstraint("number"),
    )
    op.create_index("archive_harvest_by_time", "archive_harvest", ["stamp", "number"])
    op.create_table(
        "archive_harvest_set",
        sa.Column("spec", ordered, nullable=False),
        sa.Column("stamp", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("spec", "stamp", "number"),
        sqlite_with_rowid=False,
    )
    state = op.create_table(
        "archive_harvest_state",
        sa.Column("epoch", sa.Text(), nullable=False),
        sa.Column("last", sa.BigInteger(), nullable=False),
        sa.Column("stamp", sa.BigInteger(), nullable=False),
        sa.Column("filled", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("epoch"),
    )
    first = {"epoch": secrets.token_hex(8), "last": 0, "stamp": 0, "filled": 0}
    op.bulk_insert(state, [first])
