"""A name server that speaks DNS over UDP, for what the domain name system is asked in tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from socketserver import BaseRequestHandler, ThreadingUDPServer
from typing import Final

import dns.flags
import dns.message
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import dns.rdtypes.ANY.TXT
import dns.rrset

from tests.support.servers.threaded import ThreadedServer

FAILS: Final = "fails"
"""What a name stands for that the server cannot look up."""
SILENT: Final = "silent"
"""What a name stands for about which the server says nothing at all."""

Texts = Sequence[Sequence[bytes]]
"""Records, each of one or more pieces."""


class DnsServer(ThreadedServer):
    """Answers on a port of its own at 127.0.0.1; names that it has not do not exist."""

    def __init__(self, records: Mapping[str, Texts | str]) -> None:
        """Take records by name; a name without any exists, and has no texts."""
        self.records = dict(records)
        self.asked: list[str] = []
        handler = type("Handler", (_Handler,), {"names": self})
        super().__init__(_Server(("127.0.0.1", 0), handler))

    def answer(self, octets: bytes) -> bytes | None:
        """Answer a question."""
        question = dns.message.from_wire(octets)
        answer = dns.message.make_response(question)
        answer.flags |= dns.flags.RA
        asked = question.question[0]
        name = asked.name.to_text(omit_final_dot=True)
        self.asked.append(name)
        found = self.records.get(name)
        if found == SILENT:
            return None
        if found is None:
            answer.set_rcode(dns.rcode.NXDOMAIN)
        elif isinstance(found, str):
            answer.set_rcode(dns.rcode.SERVFAIL)
        elif found and asked.rdtype == dns.rdatatype.TXT:
            records = [
                dns.rdtypes.ANY.TXT.TXT(dns.rdataclass.IN, dns.rdatatype.TXT, pieces)
                for pieces in found
            ]
            answer.answer.append(dns.rrset.from_rdata_list(asked.name, 60, records))
        return answer.to_wire()


class _Server(ThreadingUDPServer):
    daemon_threads = True
    block_on_close = False


class _Handler(BaseRequestHandler):
    names: DnsServer

    def handle(self) -> None:
        """Answer, or not."""
        octets, socket = self.request
        answer = self.names.answer(octets)
        if answer is not None:
            socket.sendto(answer, self.client_address)
