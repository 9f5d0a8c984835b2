"""ARCHIVE POWER: what a power loss leaves of an archive, at any step of its work."""

from __future__ import annotations

import shutil

from tests.faults.archive.failpoint import POWER
from tests.faults.archive.power_loss_tree import SURVIVORS
from tests.faults.archive.process_kills import LIFE, Campaign
from tests.faults.archive.session import Session
from tests.faults.archive.twins import CARELESS, POWERED
from tests.faults.figures import Figures, Violation
from tests.faults.sites import ReportProgress, Site


def lose_power(
    site: Site, size: int, seed: int, report_progress: ReportProgress, variant: str = POWERED
) -> Figures:
    """Lose power `size` times."""
    campaign = Campaign(site, seed, variant)
    while campaign.figures.kills < size:
        with campaign.session() as session:
            while session.archive.kills < min(LIFE, size - campaign.figures.kills):
                _lose_power_once(session)
                done = campaign.figures.kills + session.archive.kills
                report_progress(
                    f"{done} of {size} losses, {campaign.counts['acknowledged']} acknowledged"
                )
    return campaign.report()


def _lose_power_once(session: Session) -> None:
    archive = session.archive
    archive.failpoint.set(session.rng.randint(1, 250), POWER)
    while not archive.failpoint.triggered:
        session.attempt(session.operations.any(session.state))
    archive.end()
    survivors = archive.folder / SURVIVORS
    shutil.rmtree(archive.data)
    survivors.rename(archive.data)
    archive.revive()
    session.judge()


def lose_power_careless(
    site: Site, size: int, seed: int, report_progress: ReportProgress
) -> Figures:
    """The twin of ARCHIVE POWER: a disk on which no folder is synced."""
    try:
        return lose_power(site, size, seed, report_progress, CARELESS)
    except Violation as caught:
        return Figures(labels=1, found=caught.brief)
