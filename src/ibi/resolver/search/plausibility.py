"""Whether archives that have not answered can have a label, by registry, digests and clock."""

from __future__ import annotations

from ibi.identifier.instant import instant_of
from ibi.identifier.label import Label
from ibi.model.clock import Clock
from ibi.resolver.digests.locations import Locations
from ibi.resolver.registry.registry import Registry
from ibi.resolver.rules.evidence import Evidence
from ibi.resolver.rules.label_plausibility import Impossibility, impossibility


class Plausibility:
    """Tells labels that no archive can have from those that a silent archive may have."""

    def __init__(self, registry: Registry, locations: Locations, clock: Clock) -> None:
        """Judge by what this resolver knows of archives."""
        self._registry = registry
        self._locations = locations
        self._clock = clock

    def impossibility(self, label: Label, evidence: Evidence) -> Impossibility | None:
        """Return why no archive can have a label; None if a silent archive may have it."""
        now = instant_of(self._clock.wall())
        knows_host, digest_read = self._registry.knows_host, self._locations.digest_read
        return impossibility(label, evidence, now, knows_host, digest_read)
