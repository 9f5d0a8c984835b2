"""Values of a resolver as the messages of its API."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from ibi.identifier.instant import Instant
from ibi.model.clock import SECOND
from ibi.model.conflict import Claim, Conflict
from ibi.model.registration import ArchiveState, RegisteredArchive
from ibi.resolver.ports.store import Challenge, DigestProgress, RegistryEvent
from ibi.resolver.registry.domain_proof import http_proof, key_proof, text_proof
from ibi.resolver.web import messages


def moment(nanoseconds: int) -> str:
    """Return a time as ISO 8601, to the second; empty for 0."""
    return Instant(nanoseconds // SECOND).iso8601 if nanoseconds else ""


def counts(archives: Iterable[RegisteredArchive]) -> dict[str, int]:
    """Count archives by state."""
    found = Counter(archive.state for archive in archives)
    return {str(state): found[state] for state in ArchiveState}


def public_archive(archive: RegisteredArchive) -> messages.ArchiveAnswer:
    """Return the public facts of an archive."""
    inclusion = archive.inclusion
    return messages.ArchiveAnswer(
        archive.service.spelling,
        archive.address,
        str(archive.state),
        moment(archive.since),
        inclusion is not None and inclusion.confirmed,
        moment(inclusion.seen) if inclusion is not None else "",
        archive.outage.reason if archive.outage is not None else "",
    )


def whole_archive(
    archive: RegisteredArchive,
    digest: DigestProgress | None = None,
    seconds: float | None = None,
) -> messages.ArchiveAnswer:
    """Return the operator's view of an archive, without its key, of which only a hash is stored."""
    return msgspec.structs.replace(
        public_archive(archive),
        administrator=archive.administrator,
        origin=archive.origin,
        hosts=list(archive.hosts),
        key="good" if archive.key else "revoked",
        previous_key_until=moment(archive.previous_until) if archive.previous_key else "",
        digest=None if digest is None else _digest_answer(digest),
        response_seconds=round(seconds or 0.0, 6),
    )


def _digest_answer(digest: DigestProgress) -> messages.DigestAnswer:
    refused = digest.refusal or ""
    return messages.DigestAnswer(digest.whole, digest.count, moment(digest.confirmed), refused)


def conflict_answer(conflict: Conflict) -> messages.ConflictAnswer:
    """Return a conflict with its evidence."""
    return messages.ConflictAnswer(
        conflict.id,
        conflict.label,
        [_claim_answer(claim) for claim in conflict.claims],
        moment(conflict.opened),
        moment(conflict.last_seen),
        conflict.seen,
        moment(conflict.settled),
        conflict.owner,
        conflict.note,
    )


def _claim_answer(claim: Claim) -> messages.ClaimAnswer:
    return messages.ClaimAnswer(
        claim.archive,
        claim.address,
        claim.url,
        claim.timestamp,
        moment(claim.first_seen),
        moment(claim.last_seen),
        claim.answer,
    )


def history_line(event: RegistryEvent) -> messages.HistoryLine:
    """Return an entry of the history."""
    return messages.HistoryLine(
        event.number, moment(event.at), event.who, event.act, event.archive, event.detail
    )


def challenge_answer(challenge: Challenge, base: str) -> messages.ChallengeAnswer:
    """Return a challenge, and how to meet it."""
    return messages.ChallengeAnswer(
        challenge.token,
        challenge.service,
        challenge.host,
        moment(challenge.until),
        _proofs(challenge),
        f"POST {base}/api/v1/registrations/proof with the token",
    )


def _proofs(challenge: Challenge) -> list[messages.ProofAnswer]:
    place, text = http_proof(challenge)
    sentence = f"Let {place} answer with the text {text} and nothing else."
    proofs = [messages.ProofAnswer("http", place, text, sentence)]
    record = text_proof(challenge)
    if record is not None:
        sentence = f"Or add a TXT record to the domain name: {record.place} with {record.text}."
        proofs.append(messages.ProofAnswer("dns", record.place, record.text, sentence))
    signed = key_proof(challenge)
    if signed is not None:
        sentence = (
            f"Or, if the TXT record of {signed.place} tells the key of the archive, run "
            "`ibi archive register` with the address of this resolver."
        )
        proofs.append(messages.ProofAnswer("key", signed.place, signed.text, sentence))
    return proofs
