"""Texts of the domain name system (RFC 1035, 3.3.14)."""

from __future__ import annotations

from collections.abc import Sequence

from dns.asyncresolver import Resolver
from dns.exception import DNSException, Timeout
from dns.rdtypes.txtbase import TXTBase
from dns.resolver import NXDOMAIN, NoAnswer

from ibi.errors import ProofError


class DnsTexts:
    """Looks texts up: with the machine's own name servers, or with others."""

    def __init__(self, nameservers: Sequence[str] = (), port: int = 53) -> None:
        """Take the IP addresses of name servers; none stands for those of the machine."""
        self._nameservers = list(nameservers)
        self._port = port

    async def texts(self, name: str, seconds: float) -> list[str]:
        """Return the TXT records of a name, each in one piece; ProofError if they cannot be had."""
        try:
            # Made anew each time: the machine's name servers change, and nobody asks often.
            resolver = Resolver(configure=not self._nameservers)
            resolver.port = self._port
            if self._nameservers:
                resolver.nameservers = list(self._nameservers)
            answer = await resolver.resolve(name, "TXT", lifetime=seconds, search=False)
        except (NXDOMAIN, NoAnswer):
            return []
        except Timeout:
            raise ProofError(
                f"The name servers did not tell the texts of {name} in time."
            ) from None
        except (DNSException, OSError, ValueError):
            raise ProofError(f"The name servers do not tell the texts of {name}.") from None
        return [
            # A text longer than 255 bytes comes in pieces, which belong together.
            b"".join(record.strings).decode("utf-8", "replace")
            for record in answer
            if isinstance(record, TXTBase)
        ]
