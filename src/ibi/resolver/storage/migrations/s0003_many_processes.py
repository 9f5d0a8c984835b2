"""Many processes on one registry: who is there, who keeps which acknowledgment, and news."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "s0003"
down_revision = "s0002"


def upgrade() -> None:
    """Make the tables; acknowledgments from before belong to nobody, and are adopted."""
    op.create_table(
        "resolver_news",
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("archive", sa.Text(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("number"),
    )
    op.create_table(
        "resolver_newest",
        sa.Column("one", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("one"),
    )
    op.create_table(
        "resolver_process",
        sa.Column(
            "number",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            sa.Identity(always=False),
            nullable=False,
        ),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("beat", sa.BigInteger(), nullable=False),
        sa.Column("turn", sa.BigInteger(), nullable=False),
        sa.Column("gone", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("number"),
    )
    op.create_index("resolver_process_id", "resolver_process", ["id"], unique=True)
    op.create_table(
        "resolver_duty",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("holder", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.add_column(
        "resolver_acknowledgment",
        sa.Column("keeper", sa.Text(), nullable=False, server_default=""),
    )
    op.create_index(
        "resolver_acknowledgment_of_keeper", "resolver_acknowledgment", ["keeper", "number"]
    )
