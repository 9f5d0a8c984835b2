"""The table of figures over time."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "r0004"
down_revision = "r0003"
branch_labels = None


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "resolver_figure",
        sa.Column("seconds", sa.BigInteger(), nullable=False),
        sa.Column("start", sa.BigInteger(), nullable=False),
        sa.Column("tally", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("seconds", "start"),
        sqlite_with_rowid=False,
    )
