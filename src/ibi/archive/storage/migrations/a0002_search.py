"""The tables of the search index; the archive fills them in parts while it serves."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "a0002"
down_revision = "a0001"
branch_labels = None


def upgrade() -> None:
    """Create the tables."""
    ordered = sa.Text(collation="C").with_variant(sa.Text(), "sqlite")
    op.create_table(
        "archive_search",
        sa.Column(
            "item",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("heading", sa.Text(), nullable=False),
        sa.Column("facets", sa.Text(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("item"),
    )
    op.create_table(
        "archive_facet",
        sa.Column("facet", ordered, nullable=False),
        sa.Column("place", ordered, nullable=False),
        sa.Column("value", ordered, nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("facet", "place", "value"),
        sqlite_with_rowid=False,
    )
    state = op.create_table(
        "archive_search_state",
        sa.Column("rules", sa.BigInteger(), nullable=False),
        sa.Column("filled", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("rules"),
        sqlite_with_rowid=False,
    )
    op.bulk_insert(state, [{"rules": 1, "filled": 0}])
    if op.get_bind().dialect.name == "sqlite":
        op.execute(
            "CREATE VIRTUAL TABLE archive_search_text USING fts5("
            "title, body, prefix = '2 3', tokenize = \"ascii tokenchars '=~|'\")"
        )
    else:
        op.execute(
            "CREATE TABLE archive_search_text (item BIGINT PRIMARY KEY, terms TSVECTOR NOT NULL)"
        )
        op.execute(
            "CREATE INDEX archive_search_text_terms ON archive_search_text "
            "USING gin (terms) WITH (fastupdate = off)"
        )
