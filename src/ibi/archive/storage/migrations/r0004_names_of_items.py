"""An index of names by item: a copy that is dropped takes its names along without a look at all."""

from __future__ import annotations

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None


def upgrade() -> None:
    """Make it."""
    op.create_index("archive_name_of_item", "archive_name", ["item"])
