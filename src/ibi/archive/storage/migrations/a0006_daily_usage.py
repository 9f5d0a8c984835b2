"""Views and downloads of all items by day; all days are counted anew, in parts while it serves."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "a0006"
down_revision = "a0005"
branch_labels = None


def upgrade() -> None:
    """Add the columns, and empty the counts: earlier days have views and downloads too."""
    for name in ("views", "downloads"):
        op.add_column(
            "archive_day", sa.Column(name, sa.BigInteger(), nullable=False, server_default="0")
        )
    op.execute("DELETE FROM archive_day")
    op.execute("UPDATE archive_day_state SET filled = 0")
