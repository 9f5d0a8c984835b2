"""Texts that come from outside, of which a database cannot have all."""

from __future__ import annotations


def is_storable(text: str) -> bool:
    """Tell whether a database can have a text: PostgreSQL has no NUL, none has half a character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text


def place_in_order(text: str) -> str:
    """Return a text with the same place in the order of those that a database can have."""
    end = next((i for i, each in enumerate(text) if not is_storable(each)), len(text))
    return text[:end]


def storable(text: str) -> str:
    """Return a text, with a mark in the place of each character that no database can have."""
    if is_storable(text):
        return text
    return "".join(each if is_storable(each) else "\N{REPLACEMENT CHARACTER}" for each in text)
