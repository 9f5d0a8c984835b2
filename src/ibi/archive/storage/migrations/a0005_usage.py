"""Views and downloads, beside the accesses that resolvers acknowledge."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "a0005"
down_revision = "a0004"
branch_labels = None


def upgrade() -> None:
    """Add the columns."""
    for name in ("views", "downloads"):
        op.add_column(
            "archive_access", sa.Column(name, sa.BigInteger(), nullable=False, server_default="0")
        )
