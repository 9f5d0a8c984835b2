"""The tables of what the process that fetches digests relays to the others."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "r0002"
down_revision = "r0001"
branch_labels = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "resolver_followed",
        sa.Column("archive", sa.Text(), nullable=False),
        sa.Column("digest", sa.BigInteger(), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("archive"),
    )
    op.create_index("resolver_followed_count", "resolver_followed", ["count"])
    op.create_table(
        "resolver_publication",
        sa.Column("one", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("one"),
    )
