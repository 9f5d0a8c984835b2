"""The counts of items, files, bytes and accesses by day; filled in parts while it serves."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "a0003"
down_revision = "a0002"
branch_labels = None


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "archive_day",
        sa.Column("day", sa.Text(collation="C").with_variant(sa.Text(), "sqlite"), nullable=False),
        sa.Column("items", sa.BigInteger(), nullable=False),
        sa.Column("files", sa.BigInteger(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("accesses", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("day"),
        sqlite_with_rowid=False,
    )
    state = op.create_table(
        "archive_day_state",
        sa.Column("filled", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("filled"),
        sqlite_with_rowid=False,
    )
    op.bulk_insert(state, [{"filled": 0}])
