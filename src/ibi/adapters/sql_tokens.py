"""Tokens in SQL, the same for ledger and catalogue: each has a table of its own for them."""

from __future__ import annotations

from ibi.adapters.database import Execute
from ibi.ports import Token


def add_token(execute: Execute, table: str, token: Token) -> bool:
    """Keep a token; False if one of that name is there."""
    insert = (
        f"INSERT INTO {table} (name, digest, scope, created) VALUES ($1, $2, $3, $4) "  # noqa: S608  # our own names
        "ON CONFLICT DO NOTHING RETURNING name"
    )
    return bool(execute(insert, token.name, token.digest, token.scope, token.created))


def all_tokens(execute: Execute, table: str) -> list[Token]:
    """Return all tokens, in no order."""
    select = f"SELECT name, digest, scope, created FROM {table}"  # noqa: S608  # our own names
    return [Token(*row) for row in execute(select)]


def remove_token(execute: Execute, table: str, name: str) -> bool:
    """Forget a token; False if there was none."""
    delete = f"DELETE FROM {table} WHERE name = $1 RETURNING name"  # noqa: S608  # our own names
    return bool(execute(delete, name))
