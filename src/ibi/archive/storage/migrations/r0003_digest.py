"""Tables for the digest: the log of which names are held, and how far it has come.

They are not filled here: an archive does so while it serves, a part at a time.
"""

from __future__ import annotations

import secrets

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None


def upgrade() -> None:
    """Make them, and begin the first epoch."""
    op.create_table(
        "archive_digest",
        sa.Column(
            "number",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("names", sa.LargeBinary(), nullable=False),
        sa.Column("held", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("number"),
    )
    epoch = op.create_table(
        "archive_epoch",
        sa.Column("epoch", sa.Text(), nullable=False),
        sa.Column("last", sa.BigInteger(), nullable=False),
        sa.Column("filled", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("epoch"),
    )
    op.bulk_insert(epoch, [{"epoch": secrets.token_hex(16), "last": 0, "filled": 0}])
