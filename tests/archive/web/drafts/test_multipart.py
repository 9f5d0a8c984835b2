"""Forms with files, however their bytes are cut."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request

from ibi.archive.web.drafts.multipart import MultipartDecoder, PartBegin, PartData, PartEnd
from ibi.archive.web.drafts.upload import MOST_WITHOUT_SESSION, typed_before_sign_in
from ibi.errors import RequestError, TooLargeError

TYPE = "multipart/form-data; boundary=----x1"


def form(*parts: tuple[str, str | None, bytes], boundary: bytes = b"----x1") -> bytes:
    body = b""
    for name, filename, content in parts:
        body += b"--" + boundary + b"\r\n"
        body += f'Content-Disposition: form-data; name="{name}"'.encode()
        if filename is not None:
            body += f'; filename="{filename}"\r\nContent-Type: text/plain'.encode()
        body += b"\r\n\r\n" + content + b"\r\n"
    return body + b"--" + boundary + b"--\r\n"


def decoded(
    body: bytes, cuts: int = 1 << 30, content_type: str = TYPE
) -> list[tuple[str, str | None, bytes]]:
    decoder = MultipartDecoder(content_type)
    found: list[tuple[str, str | None, bytes]] = []
    is_open = False
    for start in range(0, len(body), cuts):
        for event in decoder.feed(body[start : start + cuts]):
            match event:
                case PartBegin(name, filename):
                    assert not is_open
                    found.append((name, filename, b""))
                    is_open = True
                case PartData(data):
                    assert is_open
                    found[-1] = (*found[-1][:2], found[-1][2] + data)
                case PartEnd():
                    is_open = False
    decoder.close()
    assert not is_open
    return found


@given(
    st.lists(
        st.tuples(
            st.text("abc é", min_size=1, max_size=9),
            st.one_of(st.none(), st.text("abc/é.", max_size=9)),
            st.lists(
                st.sampled_from([b"\r\n", b"--", b"----x1", b"\r\n----x", b"a", b"\x00\xff" * 9])
            ).map(b"".join),
        ),
        max_size=5,
    ),
    st.integers(1, 60),
)
def test_parts_come_out_as_they_were_put_in(
    parts: list[tuple[str, str | None, bytes]], cuts: int
) -> None:
    whole = [each for each in parts if b"\r\n------x1" not in each[2]]
    assert decoded(form(*whole), cuts) == whole


def test_what_browsers_write_in_names_is_read() -> None:
    body = form(("a%22b", "x%0D%0Ay.txt", b""))
    assert decoded(body) == [('a"b', "x\r\ny.txt", b"")]
    assert decoded(b"preamble\r\n" + form(("a", None, b"1")) + b"epilogue" * 9) == [
        ("a", None, b"1")
    ]
    assert decoded(
        form(("a", None, b"1"), boundary=b"x y"), content_type='Multipart/Form-Data; boundary="x y"'
    )


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"--",
        form(("a", None, b"1"))[:-5],
        b"------x1\r\n" + b"a: b\r\n" * 5000,
        b"------x1xx" + form(("a", None, b"1")),
        b"------x1\r\nContent-Type: text/plain\r\n\r\n1\r\n------x1--\r\n",
        b'------x1\r\nContent-Disposition: attachment; name="a"\r\n\r\n1\r\n------x1--\r\n',
    ],
)
def test_what_is_no_whole_form_is_refused(body: bytes) -> None:
    for cuts in (1, 1 << 30):
        with pytest.raises(RequestError):
            decoded(body, cuts)


@pytest.mark.parametrize(
    "content_type",
    ["", "text/plain; boundary=x", "multipart/form-data", "multipart/form-data; boundary=" + '""'],
)
def test_a_form_without_a_boundary_is_refused(content_type: str) -> None:
    with pytest.raises(RequestError):
        MultipartDecoder(content_type)


def test_little_is_held_of_a_large_file() -> None:
    decoder = MultipartDecoder(TYPE)
    head = form(("a", "f", b"")).partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
    assert len(list(decoder.feed(head))) == 1
    for _ in range(10):
        events = list(decoder.feed(b"x" * 100_000))
        assert sum(len(each.data) for each in events if isinstance(each, PartData)) >= 99_900


def test_what_is_read_without_a_session_has_a_bound() -> None:
    head = b'--x\r\nContent-Disposition: form-data; name="files"; filename="a"\r\n\r\n'
    sent = 0

    async def receive() -> dict[str, object]:
        nonlocal sent
        body = bytes(1 << 20) if sent else head
        sent += len(body)
        return {"type": "http.request", "body": body, "more_body": True}

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/deposit/draft1/files",
        "raw_path": b"/deposit/draft1/files",
        "query_string": b"",
        "headers": [(b"content-type", b"multipart/form-data; boundary=x")],
    }
    with pytest.raises(TooLargeError):
        asyncio.run(_carry(Request(scope, receive)))
    assert sent <= MOST_WITHOUT_SESSION + (2 << 20)


async def _carry(request: Request) -> None:
    await typed_before_sign_in(request)
