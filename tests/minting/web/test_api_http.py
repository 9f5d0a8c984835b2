"""The minting service over HTTP: every route, every refusal, by real requests to a real process."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterator
from http.client import HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from ibi import Ibip, RepositoryName
from ibi.errors import LedgerUnavailableError
from ibi.foundation.web.request_body import LARGEST_BODY
from ibi.foundation.web.tokens import STALE_TIME
from ibi.model.token import Token
from tests.support.clients.http import LABELS, PROBLEM, Answer
from tests.support.servers.minting import HOST, IP, MintingServer, in_process_minting_server

SUBSYSTEM = "/api/v1/subsystem"
GRANULARITY = "/api/v1/granularity"
CONFIRMATION = "/api/v1/confirmation"


class Service(MintingServer):
    """The service under test, and those who have tokens for it."""

    library = museum = ""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("service")
    server = Service(folder, "--ip", IP)
    server.token = server.add_token("operator", "administer")
    server.library = server.add_token("library")
    server.museum = server.add_token("museum")
    with server:
        yield server
        log = server.log()
        assert "Traceback" not in log
        assert "unforeseen" not in log
        for secret in (server.token, server.library, server.museum):
            assert secret not in log
            assert secret not in server.said()


def problem(answer: Answer, status: int) -> str:
    """Return the one sentence of a problem document."""
    assert answer.status == status, answer.body
    assert answer.headers["content-type"] == PROBLEM
    assert answer.headers["cache-control"] == "no-store"
    document = answer.json()
    assert document["status"] == status
    assert document["title"]
    assert set(document) <= {"type", "title", "status", "detail", "retry_after"}
    detail: str = document["detail"]
    assert detail.isprintable()
    assert detail.endswith((".", "?"))
    assert len(detail) < 400
    return detail


def refused(service: Service, status: int, ask: Callable[[], Answer]) -> str:
    """Ask for what cannot be, and see that nothing was minted."""
    before = service.state()["given"], service.mark()
    detail = problem(ask(), status)
    assert (service.state()["given"], service.mark()) == before
    return detail


def raw(address: str, sent: bytes) -> Answer:
    """Send bytes as they are."""
    parts = urlsplit(address)
    with socket.create_connection(
        (parts.hostname or "", parts.port or 0), timeout=60
    ) as connection:
        connection.sendall(sent)
        answer = HTTPResponse(connection)
        answer.begin()
        return Answer(answer.status, dict(answer.headers.items()), answer.read())


# Minting


def test_an_empty_request_mints_one_label_in_both_forms(service: Service) -> None:
    answer = service.mint()
    assert answer.status == 201
    assert answer.headers["cache-control"] == "no-store"
    [label] = answer.json()["labels"]
    rep, ibip = RepositoryName.parse(label["rep"]), Ibip.parse(label["ibip"])
    assert (rep.host, ibip.ip) == (HOST, IP)
    assert rep.instant == ibip.instant
    assert label["instant"] == rep.instant.iso8601


@pytest.mark.parametrize("body", [{}, {"count": 1}, {"reserve": False}, {"target": ""}])
def test_what_is_left_out_means_one_label(service: Service, body: object) -> None:
    assert len(service.mint(body).labels()) == 1


@pytest.mark.parametrize("count", [2, 10_000])
def test_many_labels_at_once_are_all_different_and_in_order(service: Service, count: int) -> None:
    before = service.state()["given"]
    labels = service.mint({"count": count}).labels()
    instants = [RepositoryName.parse(label).instant for label in labels]
    assert len(set(labels)) == count
    assert instants == sorted(instants)
    assert service.state()["given"] == before + count


def test_the_same_key_gets_the_same_labels_again(service: Service) -> None:
    first = service.mint({"count": 3}, key="again")
    given = service.state()["given"]
    assert service.mint({"count": 3}, key="again").body == first.body
    assert service.state()["given"] == given
    assert service.mint({"count": 3}, key="another").body != first.body


@pytest.mark.parametrize("other", [{"count": 2}, {"reserve": True}, {"target": "x"}])
def test_the_same_key_with_another_request_is_refused(service: Service, other: object) -> None:
    service.mint(key="used")
    detail = refused(service, 422, lambda: service.mint(other, key="used"))
    assert "'used'" in detail


def test_two_clients_who_happen_upon_one_key_get_different_labels(service: Service) -> None:
    answers = [
        service.ask("POST", LABELS, key="1", token=token)
        for token in (service.library, service.museum)
    ]
    assert answers[0].labels() != answers[1].labels()


@pytest.mark.parametrize("key", ["k" * 255, "é", "a key with spaces", ":/?#"])
def test_any_printable_key_of_up_to_255_characters_will_do(service: Service, key: str) -> None:
    assert service.mint(key=key).body == service.mint(key=key).body


# What is remembered


def test_a_label_is_reserved_listed_bound_and_no_longer_listed(service: Service) -> None:
    [label] = service.mint({"reserve": True}).json()["labels"]
    listed = service.ask("GET", LABELS).json()["labels"]
    assert label["rep"] in {each["rep"] for each in listed}
    path = f"{LABELS}/{label['rep']}"
    found = service.ask("GET", path).json()
    assert found["rep"] == label["rep"]
    assert "target" not in found
    bound = service.ask("PUT", path, {"target": "https://example.org/a"})
    assert bound.status == 200
    assert bound.json() == {**found, "target": "https://example.org/a"}
    # Once more, as after a lost answer; and by the other form of the label.
    assert service.ask("PUT", path, {"target": "https://example.org/a"}).body == bound.body
    assert service.ask("GET", f"{LABELS}/{label['ibip']}").body == bound.body
    assert service.ask("GET", f"{LABELS}/{quote(label['rep'], safe='')}").body == bound.body
    listed = service.ask("GET", LABELS).json()["labels"]
    assert label["rep"] not in {each["rep"] for each in listed}


def test_a_bound_label_cannot_be_bound_to_something_else(service: Service) -> None:
    [label] = service.mint({"target": "one"}).labels()
    path = f"{LABELS}/{label}"
    detail = refused(service, 409, lambda: service.ask("PUT", path, {"target": "two"}))
    assert "already bound to 'one'" in detail
    assert service.ask("GET", path).json()["target"] == "one"


def test_a_label_that_was_not_reserved_cannot_be_bound(service: Service) -> None:
    [label] = service.mint().labels()
    path = f"{LABELS}/{label}"
    assert "was not reserved" in problem(service.ask("PUT", path, {"target": "x"}), 409)
    assert problem(service.ask("GET", path), 404)


def test_the_list_of_unbound_labels_comes_in_pages(service: Service) -> None:
    reserved = service.mint({"count": 7, "reserve": True}).labels()
    found: list[str] = []
    after = ""
    while True:
        page = service.ask("GET", f"{LABELS}?limit=3&after={after}").json()
        found += [label["rep"] for label in page["labels"]]
        assert len(page["labels"]) <= 3
        if not (after := page.get("next", "")):
            break
    assert [label for label in found if label in set(reserved)] == reserved
    assert len(set(found)) == len(found)


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=1001",
        "limit=-1",
        "limit=x",
        "limit=",
        "limit=%C2%B2",
        "after=-1",
        "after=x",
        "after=1e9",
        "after=99999999999999999999",
        "after=9223372036854775808",
    ],
)
def test_a_page_that_cannot_be_is_refused(service: Service, query: str) -> None:
    assert "is not a number from" in problem(service.ask("GET", f"{LABELS}?{query}"), 400)


# Every label that is none, or none of this subsystem, or not of this millennium.
STRANGERS = [
    "",
    "nonsense",
    "%00",
    "%FF",
    "a" * 9000,
    "example.org/archive",
    "8JMKD3MGP8W/ZZZ",
]
NOT_OURS = [
    "example.org/other/2026/01.01.00.00",
    "example.org/archive@8080/2026/01.01.00.00",
    "8JMKD3MGP7W/3EPGUE5",
    "6qtX3pFwXQZGivnK2Y/SskcB",
    "example.org/archive/9999/01.01.00.00",
    "example.org/archive/2026/01.01.00.00.00.1234567891",
]


@pytest.mark.parametrize("text", STRANGERS)
def test_a_text_that_is_no_label_is_refused(service: Service, text: str) -> None:
    path = f"{LABELS}/{text}"
    assert " is not a" in problem(service.ask("GET", path), 400)
    assert " is not a" in problem(service.ask("PUT", path, {"target": "x"}), 400)


@pytest.mark.parametrize("label", NOT_OURS)
def test_a_label_of_somebody_else_is_not_found_and_cannot_be_bound(
    service: Service, label: str
) -> None:
    path = f"{LABELS}/{label}"
    assert problem(service.ask("GET", path), 404) == "Nothing is recorded of this label here."
    assert "was not reserved" in problem(service.ask("PUT", path, {"target": "x"}), 409)


def test_a_label_of_somebody_else_is_not_ours_for_having_the_same_instant(service: Service) -> None:
    [label] = service.mint({"reserve": True}).labels()
    path = f"{LABELS}/{label.replace('example.org/archive', 'example.org/other')}"
    assert problem(service.ask("GET", path), 404)
    assert "was not reserved" in problem(service.ask("PUT", path, {"target": "x"}), 409)
    assert "target" not in service.ask("GET", f"{LABELS}/{label}").json()


@pytest.mark.parametrize(
    "body",
    [
        None,
        {},
        {"target": ""},
        {"target": None},
        {"target": "x" * 2049},
        {"target": "a\nb"},
        {"target": "x", "more": 1},
    ],
)
def test_a_target_that_cannot_be_written_down_is_refused(service: Service, body: object) -> None:
    [label] = service.mint({"reserve": True}).labels()
    refused(service, 400, lambda: service.ask("PUT", f"{LABELS}/{label}", body))
    assert "target" not in service.ask("GET", f"{LABELS}/{label}").json()


# What cannot be asked for

BAD_BODIES = [
    b'{"count": 0}',
    b'{"count": -1}',
    b'{"count": 10001}',
    b'{"count": 1' + b"0" * 30 + b"}",
    b'{"count": 1e400}',
    b'{"count": 1.5}',
    b'{"count": 1.0}',
    b'{"count": "x"}',
    b'{"count": "1"}',
    b'{"count": null}',
    b'{"count": true}',
    b'{"count": [1]}',
    b'{"count": NaN}',
    b'{"many": 1}',
    b'{"' + b"k" * 60_000 + b'": 1}',
    b'{"\\u001b[31m": 1}',
    b'{"reserve": 1}',
    b'{"reserve": "yes"}',
    b'{"target": 1}',
    b'{"target": "' + b"x" * 2049 + b'"}',
    b'{"target": "a\\nb"}',
    b'{"target": "\\u0000"}',
    b'{"target": "\\u001b[31m"}',
    b'{"target": "\\u202e"}',
    b'{"target": "\\ud800"}',
    b'{"target": "\\udc00"}',
    b'{"target": "\xff"}',
    b'{"count": 2, "target": "x"}',
    b"\xff\xfe",
    b"\xef\xbb\xbf{}",
    b"nonsense",
    b"{",
    b"{} {}",
    b" ",
    b"null",
    b"[]",
    b'"count"',
    b"[" * 60_000,
    b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
    b'{"count":' + b"[" * 60_000,
]


@pytest.mark.parametrize("body", BAD_BODIES, ids=lambda body: repr(body[:24]))
def test_a_body_that_cannot_be_is_refused_and_nothing_minted(service: Service, body: bytes) -> None:
    refused(service, 400, lambda: service.mint(body))
    refused(service, 400, lambda: service.mint(body, key="never used"))


def test_a_body_larger_than_any_that_makes_sense_is_refused(service: Service) -> None:
    spaces = b" " * (LARGEST_BODY - 2)
    assert len(service.mint(b"{}" + spaces).labels()) == 1
    refused(service, 413, lambda: service.mint(b"{}" + spaces + b" "))
    chunks = b"1000\r\n" + b" " * 4096 + b"\r\n"
    head = (
        f"POST {LABELS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {service.token}\r\n"
        "Transfer-Encoding: chunked\r\n\r\n"
    )
    refused(service, 413, lambda: raw(service.address, head.encode() + chunks * 17))


@pytest.mark.parametrize("key", ["k" * 256, "a\tb", "\x80", "\xa0"])
def test_a_key_that_cannot_be_written_down_is_refused(service: Service, key: str) -> None:
    assert "is not a key" in refused(service, 400, lambda: service.mint(key=key))


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/nothing",
        "/api/v1/",
        "/api/v2/labels",
        "/api/v1/subsystem/",
        "/healthz/",
        "//healthz",
        "/metrics/x",
        "/api/v1/labelsx",
        "/%2e%2e/etc/passwd",
        "/healthz%00",
    ],
)
def test_an_address_that_is_not_there_is_not_found(service: Service, path: str) -> None:
    assert problem(service.ask("GET", path), 404) == "There is nothing at this address."


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("DELETE", LABELS),
        ("PATCH", f"{LABELS}/x"),
        ("POST", "/healthz"),
        ("GET", GRANULARITY),
        ("GET", CONFIRMATION),
        ("PUT", SUBSYSTEM),
        ("OPTIONS", "/metrics"),
        ("TRACE", "/readyz"),
    ],
)
def test_a_method_that_an_address_does_not_take_is_refused(
    service: Service, method: str, path: str
) -> None:
    answer = service.ask(method, path)
    assert problem(answer, 405) == "This address does not take this method."
    assert method not in answer.headers["allow"]


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET\r\n\r\n",
        b"BREW /healthz HTTP/1.1\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nA b: c\r\n\r\n",
        b"POST /api/v1/labels HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST /api/v1/labels HTTP/1.1\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        (
            b"POST /api/v1/labels HTTP/1.1\r\nTransfer-Encoding: chunked\r\n"
            b"Content-Length: 2\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
        ),
        b"POST /api/v1/labels HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n\r\n",
    ],
    ids=lambda sent: repr(sent[:20]),
)
def test_what_is_no_http_is_answered_with_400_and_mints_nothing(
    service: Service, sent: bytes
) -> None:
    before = service.state()["given"]
    assert raw(service.address, sent).status in {400, 401}
    assert service.state()["given"] == before


# Who may


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", LABELS),
        ("GET", LABELS),
        ("GET", f"{LABELS}/x"),
        ("PUT", f"{LABELS}/x"),
        ("GET", SUBSYSTEM),
        ("PUT", GRANULARITY),
        ("POST", CONFIRMATION),
    ],
)
@pytest.mark.parametrize(
    "authorization",
    [
        "",
        "Bearer",
        "Bearer ",
        "Bearer nonsense",
        "Basic {token}",
        "{token}",
        "Bearer {token}x",
        "Bearer Bearer {token}",
        "Bearer {token},",
        "Bearer éÿ",
    ],
)
def test_without_a_token_that_is_known_nothing_happens(
    service: Service, method: str, path: str, authorization: str
) -> None:
    headers = {"Authorization": authorization.format(token=service.token)} if authorization else {}
    answer = service.ask(method, path, {"granularity": "60"}, token="", headers=headers)
    assert "A valid token is needed" in problem(answer, 401)
    assert answer.headers["www-authenticate"] == 'Bearer realm="ibi"'
    assert service.token.encode() not in answer.body


def test_without_a_token_nothing_is_minted(service: Service) -> None:
    refused(service, 401, lambda: service.ask("POST", LABELS, headers={"Authorization": "x"}))
    assert service.state()["granularity"].startswith("auto")


@pytest.mark.parametrize("kind", ["bearer", "BEARER"])
def test_the_name_of_the_scheme_is_read_in_any_case(service: Service, kind: str) -> None:
    headers = {"Authorization": f"{kind} {service.library}"}
    assert service.ask("GET", SUBSYSTEM, headers=headers).status == 200


@pytest.mark.parametrize(("method", "path"), [("PUT", GRANULARITY), ("POST", CONFIRMATION)])
def test_a_token_for_minting_does_not_administer(service: Service, method: str, path: str) -> None:
    def ask() -> Answer:
        return service.ask(method, path, {"granularity": "60"}, token=service.library)

    assert "'administer'" in refused(service, 403, ask)
    assert service.state()["granularity"].startswith("auto")


@pytest.mark.parametrize(
    "path",
    ["/healthz", "/readyz", "/metrics", "/openapi.json", "/api/v1/describe?text=LK47B6W/362SFKH"],
)
def test_what_tells_nothing_secret_needs_no_token(service: Service, path: str) -> None:
    assert service.ask("GET", path, token="").status == 200
    head = service.ask("HEAD", path, token="")
    assert (head.status, head.body) == (200, b"")


def test_a_removed_token_is_refused_after_the_stated_time_at_the_latest(tmp_path: Path) -> None:
    with in_process_minting_server(tmp_path, "auto", seats=10) as server:
        library = server.add_token("library")
        assert server.ask("POST", LABELS, token=library).status == 201
        assert server.service.minter.ledger.remove_token("library")
        server.clock.true += STALE_TIME + 1
        assert server.ask("POST", LABELS, token=library).status == 401
        assert server.mint().status == 201


def test_the_ledger_keeps_no_secret(service: Service) -> None:
    kept = b"".join(path.read_bytes() for path in service.folder.glob("ledger.sqlite*"))
    assert b"library" in kept
    assert service.library.encode() not in kept
    assert service.library.removeprefix("ibi_").encode() not in kept


# Looking after it


def test_the_state_tells_prefixes_and_who_waits(service: Service) -> None:
    service.mint()
    state = service.state()
    assert state["prefixes"] == ["example.org/archive", "8JMKD3MGP8W"]
    assert state["given"] > 0
    assert (state["waiting"], state["trouble"]) == (0, "")
    assert state["ledger_latency"] > 0


def test_the_granularity_changes_while_minting_goes_on(service: Service) -> None:
    def change(granularity: str) -> Any:  # noqa: ANN401  # an answer
        answer = service.ask("PUT", GRANULARITY, {"granularity": granularity})
        assert answer.status == 200
        return answer.json()["granularity"]

    try:
        assert change("0.001") == "0.001"
        suffixes = [label.rsplit("/", 1)[1] for label in service.mint({"count": 50}).labels()]
        assert max(map(len, suffixes)) == len("01.01.00.00.00.123")
        assert change("0.0001") == "0.0001"
        suffixes = [label.rsplit("/", 1)[1] for label in service.mint({"count": 50}).labels()]
        assert max(map(len, suffixes)) == len("01.01.00.00.00.1234")
    finally:
        assert change("auto").startswith("auto")


@pytest.mark.parametrize(
    "body",
    [{"granularity": wrong} for wrong in ("7", "0", "-1", "1e-3", "nan", "0.5", "", "1 0", "٠٫١")]
    + [{"granularity": 1}, {"granularity": None}, {}, {"granularity": "1", "more": 1}, b"", b"{"],
    ids=repr,
)
def test_what_is_no_granularity_changes_nothing(service: Service, body: object) -> None:
    refused(service, 400, lambda: service.ask("PUT", GRANULARITY, body))
    assert service.state()["granularity"].startswith("auto")


def test_a_confirmation_goes_on_after_now(service: Service) -> None:
    [before] = service.mint().labels()
    answer = service.ask("POST", CONFIRMATION)
    assert answer.status == 200
    assert answer.json()["trouble"] == ""
    [after] = service.mint().labels()
    assert RepositoryName.parse(after).instant > RepositoryName.parse(before).instant


def test_a_label_is_described(service: Service) -> None:
    answer = service.ask("GET", "/api/v1/describe?text=8JMKD3MGP7W/3EPGUE5")
    assert answer.json()["ip"] == "150.163.34.242"
    future = service.ask("GET", "/api/v1/describe?text=a.br/b/9999/01.01.00.00").json()
    assert future["warnings"] == ["in-the-future"]


@pytest.mark.parametrize(
    "query", ["", "?text=", "?text=x", "?text=%FF%00", f"?text={'9' * 20_000}"]
)
def test_what_is_no_label_is_not_described(service: Service, query: str) -> None:
    assert "is not an IBI" in problem(service.ask("GET", f"/api/v1/describe{query}"), 400)


def test_health_and_readiness(service: Service) -> None:
    given, mark = service.state()["given"], service.mark()
    assert service.ask("GET", "/healthz").body == b"alive\n"
    assert service.ask("GET", "/readyz").body == b"ready\n"
    assert (service.state()["given"], service.mark()) == (given, mark)


def test_metrics_agree_with_the_state(service: Service) -> None:
    service.mint({"count": 5}, key="for the ledger")
    page = service.ask("GET", "/metrics")
    assert page.headers["content-type"].startswith("text/plain; version=0.0.4")
    values = dict(re.findall(r"^(ibi_[a-z_]+) (\S+)$", page.body.decode(), re.MULTILINE))
    assert float(values["ibi_labels_given_total"]) == service.state()["given"]
    assert float(values["ibi_waiting"]) == 0
    assert float(values["ibi_trouble"]) == 0
    assert float(values["ibi_ledger_seconds_count"]) > 0
    assert float(values["ibi_granularity_seconds"]) > 0


def test_a_clock_that_cannot_be_trusted_is_told_everywhere(tmp_path: Path) -> None:
    with in_process_minting_server(tmp_path, "auto", seats=10) as server:
        server.mint().labels()
        server.clock.error = 7200 * 10**9
        answer = server.mint()
        assert "The clock jumped 2 hours ahead" in problem(answer, 503)
        assert answer.headers["retry-after"] == str(answer.json()["retry_after"])
        assert "jumped" in problem(server.ask("GET", "/readyz"), 503)
        assert "jumped" in server.state()["trouble"]
        assert b"\nibi_trouble 1.0" in server.ask("GET", "/metrics").body
        assert server.ask("GET", "/healthz").status == 200
        assert server.ask("POST", CONFIRMATION).json()["trouble"] == ""
        assert server.ask("GET", "/readyz").status == 200
        server.clock.true += 10 * 10**9
        assert len(server.mint().labels()) == 1


def test_readiness_is_asked_of_the_ledger_once_a_second(tmp_path: Path) -> None:
    with in_process_minting_server(tmp_path, "auto", seats=10) as server:
        assert server.ask("GET", "/readyz").status == 200
        (tmp_path / "ledger.sqlite").rename(tmp_path / "elsewhere")
        assert server.ask("GET", "/readyz").status == 200
        server.clock.true += 2 * 10**9
        assert server.ask("GET", "/readyz").status == 503


def test_a_ledger_that_stalls_is_asked_for_tokens_once_for_all(tmp_path: Path) -> None:
    with in_process_minting_server(tmp_path, "auto", seats=10) as server:
        server.mint().labels()
        asked = []
        failure = LedgerUnavailableError("x", "it is stalled")

        def stalled() -> list[Token]:
            asked.append(1)
            raise failure

        server.service.minter.ledger.tokens = stalled  # type: ignore[method-assign]
        server.clock.true += 60 * 10**9
        for _ in range(5):
            problem(server.mint(), 503)
        assert len(asked) == 1
        problem(server.ask("POST", LABELS, token=""), 401)
        assert len(asked) == 1


@pytest.mark.parametrize("keys", [[""], ["  "], ["a", "b"]])
def test_a_key_is_one_and_not_empty(service: Service, keys: list[str]) -> None:
    address = urlsplit(service.address)
    lines = [f"POST {LABELS} HTTP/1.1", "Host: x", "Connection: close", "Content-Length: 0"]
    lines += [f"Authorization: Bearer {service.token}"]
    lines += [f"Idempotency-Key: {key}" for key in keys]
    with socket.create_connection((address.hostname or "", address.port or 80), 30) as line:
        line.sendall("\r\n".join([*lines, "", ""]).encode())
        answer = b"".join(iter(lambda: line.recv(4096), b""))
    assert answer.startswith(b"HTTP/1.1 400 ")


def test_a_wrong_method_is_told_all_right_ones(tmp_path: Path) -> None:
    with in_process_minting_server(tmp_path, "auto", seats=10) as server:
        answer = server.ask("DELETE", LABELS)
        assert answer.status == 405
        assert {"GET", "POST"} <= set(answer.headers["allow"].split(", "))


def test_a_ledger_that_cannot_be_used_mints_nothing_and_is_not_named(tmp_path: Path) -> None:
    with in_process_minting_server(tmp_path, "auto", seats=10) as server:
        server.mint().labels()
        (tmp_path / "ledger.sqlite").rename(tmp_path / "elsewhere")
        server.clock.true += 10**9
        answer = server.mint(key="k")
        assert problem(answer, 503).startswith("The ledger cannot be used at the moment")
        assert b"sqlite" not in answer.body
        problem(server.ask("GET", "/readyz"), 503)
        (tmp_path / "elsewhere").rename(tmp_path / "ledger.sqlite")
        assert len(server.mint(key="k").labels()) == 1


# After a crash


def test_after_a_kill_keys_labels_and_tokens_are_as_before(tmp_path: Path) -> None:
    with MintingServer(tmp_path) as server:
        token = server.token
        kept = server.mint({"count": 5, "reserve": True}, key="k")
        [bound] = server.mint({"target": "there"}).labels()
        seen = {*kept.labels(), bound, *(server.mint().labels()[0] for _ in range(20))}
        server.kill()
        server.start()
        assert server.token == token
        assert server.said().count("token ") == 1
        assert server.mint({"count": 5, "reserve": True}, key="k").body == kept.body
        assert server.ask("GET", f"{LABELS}/{bound}").json()["target"] == "there"
        listed = server.ask("GET", LABELS).json()["labels"]
        assert [label["rep"] for label in listed] == kept.labels()
        fresh = [server.mint().labels()[0] for _ in range(20)]
        assert not seen & set(fresh)
        assert min(map(instant, fresh)) > max(map(instant, seen))


def instant(label: str) -> tuple[int, str]:
    read = RepositoryName.parse(label).instant
    return read.seconds, read.significant_fraction
