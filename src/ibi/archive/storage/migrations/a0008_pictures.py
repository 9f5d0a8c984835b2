"""The table of pictures of PDF files; the archive fills it while it serves."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "a0008"
down_revision = "a0007"
branch_labels = None


def upgrade() -> None:
    """Create the table, and have all items wait for extraction again: their texts are kept."""
    op.create_table(
        "archive_picture",
        sa.Column("item", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("image", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("item", "sha256"),
    )
    op.execute("UPDATE archive_text_state SET filled = 0")
