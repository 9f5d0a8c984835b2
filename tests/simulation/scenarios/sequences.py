"""Dramas: several things that happen one after the other, and have to do with each other.

Each of them comes about by chance as well, but in one world of thousands.
"""

from __future__ import annotations

from typing import Final

from tests.simulation.scenarios.archive_sequences import OF_ARCHIVES
from tests.simulation.scenarios.resolver_sequences import OF_RESOLVERS

DRAMAS: Final = (*OF_ARCHIVES, *OF_RESOLVERS)
