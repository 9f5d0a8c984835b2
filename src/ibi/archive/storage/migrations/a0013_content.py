"""The index of files by their bytes."""

from __future__ import annotations

from alembic import op

revision = "a0013"
down_revision = "a0012"
branch_labels = None


def upgrade() -> None:
    """Create the index, which takes a while in a large archive."""
    op.create_index("archive_file_of_sha256", "archive_file", ["sha256", "item", "path"])
