"""The tables of accounts of people, their sessions, links, and limits of guesses."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "r0003"
down_revision = "r0002"
branch_labels = None


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "resolver_account",
        sa.Column("name", sa.Text(collation="C").with_variant(sa.Text(), "sqlite"), nullable=False),
        sa.Column("full_name", sa.Text(), nullable=False),
        sa.Column("mail", sa.Text(), nullable=False),
        sa.Column("mail_key", sa.Text()),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("password", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text()),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("changed", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
        sa.UniqueConstraint("mail_key"),
        sa.UniqueConstraint("subject"),
    )
    op.create_table(
        "resolver_session",
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("seen", sa.BigInteger(), nullable=False),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("digest"),
    )
    op.create_index("resolver_session_of_account", "resolver_session", ["account"])
    op.create_table(
        "resolver_account_link",
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("mail", sa.Text(), nullable=False),
        sa.Column("made_by", sa.Text(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("expires", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("digest"),
    )
    op.create_table(
        "resolver_guess",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key"),
    )
