"""The tables of drafts and of comments on them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

# Ids are compared byte by byte, as on SQLite.
_ID = sa.Text(collation="C").with_variant(sa.Text(), "sqlite")

revision = "a0010"
down_revision = "a0009"
branch_labels = None


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "archive_draft",
        sa.Column("id", _ID, nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("label", sa.Text(), nullable=True),
        sa.Column("forms", sa.Text(), nullable=False),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("fields", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("opened", sa.BigInteger(), nullable=False),
        sa.Column("changed", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("label"),
    )
    op.create_index("archive_draft_of_owner", "archive_draft", ["owner", "changed"])
    op.create_index("archive_draft_of_state", "archive_draft", ["state", "changed"])
    op.create_table(
        "archive_draft_comment",
        sa.Column("draft", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("draft", "number"),
    )
