"""Dramas: several things that happen one after the other, and have to do with each other.

Each of them comes about by chance as well, but in one world of thousands.
"""

from __future__ import annotations

from typing import Final

from tests.simulation.dramas_of_archives import OF_ARCHIVES
from tests.simulation.dramas_of_resolvers import OF_RESOLVERS

DRAMAS: Final = (*OF_ARCHIVES, *OF_RESOLVERS)
