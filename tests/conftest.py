"""Shared by all tests."""

from __future__ import annotations

import os

from hypothesis import settings

# Machines are noisy: no example fails for being slow. CI draws the same examples every time.
settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")
