"""Tables for the digests of archives: how much of each is here, and the fingerprints in them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "s0002"
down_revision = "s0001"
branch_labels = None


def upgrade() -> None:
    """Make them."""
    op.create_table(
        "resolver_digest",
        sa.Column(
            "number",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            sa.Identity(always=False),
            nullable=False,
        ),
        sa.Column("archive", sa.Text(), nullable=False),
        sa.Column("epoch", sa.Text(), nullable=False),
        sa.Column("last", sa.BigInteger(), nullable=False),
        sa.Column("whole", sa.Boolean(), nullable=False),
        sa.Column("confirmed", sa.BigInteger(), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("number"),
        sqlite_autoincrement=True,
    )
    op.create_index("resolver_digest_of_archive", "resolver_digest", ["archive"])
    op.create_table(
        "resolver_holding",
        sa.Column("fingerprint", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("fingerprint", "digest"),
        sqlite_with_rowid=False,
    )
