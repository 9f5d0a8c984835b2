"""Settings of all tests of searches."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _keys_are_cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that is slow to guess is slow to keep, and no test here is about keys."""
    monkeypatch.setattr("ibi.resolver.registry.registry.hashed", str)
