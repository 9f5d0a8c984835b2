"""The fork server of `multiprocessing` skips a module that it cannot import, and says nothing."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from tests.faults.fork_server import PRELOADED


@pytest.mark.parametrize("module", PRELOADED)
def test_each_preloaded_module_exists(module: str) -> None:
    assert find_spec(module) is not None
