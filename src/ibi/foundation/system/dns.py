"""TXT records of the domain name system (RFC 1035, 3.3.14)."""

from __future__ import annotations

from collections.abc import Sequence

from dns.asyncresolver import Resolver
from dns.exception import DNSException, Timeout
from dns.rdtypes.txtbase import TXTBase
from dns.resolver import NXDOMAIN, NoAnswer

from ibi.errors import ProofError


class DnsTexts:
    """Looks up TXT records, with the name servers of the machine or with others."""

    def __init__(self, nameservers: Sequence[str] = (), port: int = 53) -> None:
        """Take the IP addresses of name servers; none for those of the machine."""
        self._nameservers = list(nameservers)
        self._port = port

    async def texts(self, name: str, seconds: float) -> list[str]:
        """Return the TXT records of a name, each in one piece; ProofError if the look-up fails."""
        try:
            # Made anew each time: the machine's name servers may change, and look-ups are rare.
            resolver = Resolver(configure=not self._nameservers)
            resolver.port = self._port
            if self._nameservers:
                resolver.nameservers = list(self._nameservers)
            answer = await resolver.resolve(name, "TXT", lifetime=seconds, search=False)
        except (NXDOMAIN, NoAnswer):
            return []
        except Timeout:
            raise ProofError(
                f"The name servers did not return the TXT records of {name} in time."
            ) from None
        except (DNSException, OSError, ValueError):
            raise ProofError(f"The name servers do not return the TXT records of {name}.") from None
        return [
            # A text longer than 255 bytes comes in several strings.
            b"".join(record.strings).decode("utf-8", "replace")
            for record in answer
            if isinstance(record, TXTBase)
        ]
