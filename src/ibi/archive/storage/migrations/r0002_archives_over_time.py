"""Tables for what takes long or lasts: tasks, transfers, copies, and damage that was found."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None


def upgrade() -> None:
    """Make them."""
    ordered = sa.Text(collation="C").with_variant(sa.Text(), "sqlite")
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
