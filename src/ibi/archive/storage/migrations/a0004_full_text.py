"""The tables of the texts of files; the archive fills them while it serves."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "a0004"
down_revision = "a0003"
branch_labels = None


def upgrade() -> None:
    """Create the tables."""
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "archive_text",
        sa.Column("item", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("characters", sa.BigInteger(), nullable=False),
        sa.Column("text", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("item", "sha256"),
    )
    op.create_table(
        "archive_text_queue",
        sa.Column("item", number, autoincrement=False, nullable=False),
        sa.Column("turn", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("item"),
    )
    state = op.create_table(
        "archive_text_state",
        sa.Column("rules", sa.BigInteger(), nullable=False),
        sa.Column("filled", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("rules"),
        sqlite_with_rowid=False,
    )
    op.bulk_insert(state, [{"rules": 1, "filled": 0}])
    if op.get_bind().dialect.name == "sqlite":
        op.execute(
            "CREATE VIRTUAL TABLE archive_file_terms USING fts5("
            "title, body, prefix = '2 3', tokenize = \"ascii tokenchars '=~|'\")"
        )
    else:
        op.execute(
            "CREATE TABLE archive_file_terms (item BIGINT PRIMARY KEY, terms TSVECTOR NOT NULL)"
        )
        op.execute(
            "CREATE INDEX archive_file_terms_terms ON archive_file_terms "
            "USING gin (terms) WITH (fastupdate = off)"
        )
