"""All planted bugs, which show that the simulation checks each rule."""

from __future__ import annotations

from typing import Final

from tests.simulation.planted.in_archives import IN_ARCHIVES
from tests.simulation.planted.in_minting import IN_MINTERS
from tests.simulation.planted.in_resolver_storage import IN_PROCESSES
from tests.simulation.planted.in_searches import IN_RESOLVERS
from tests.simulation.planted.in_transfers import IN_TRANSFERS

MUTATIONS: Final = (*IN_MINTERS, *IN_ARCHIVES, *IN_TRANSFERS, *IN_RESOLVERS, *IN_PROCESSES)
