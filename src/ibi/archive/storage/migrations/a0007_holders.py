"""The table of other archives that hold items of this one."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "a0007"
down_revision = "a0006"
branch_labels = None


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "archive_holder",
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("seen", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("label", "address"),
    )
