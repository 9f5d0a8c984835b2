"""`ibi describe`, by the door users use: a process of its own."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes import fork_server

IBI = [str(Path(sys.executable).with_name("ibi"))]
NAME = "sid.inpe.br/mtc-m18@80/2009/02.16.17.46"
IBIP = "8JMKD3MGP7W/3EPGUE5"


def run(*arguments: str, stdin: str | bytes = "") -> subprocess.CompletedProcess[str]:
    given = stdin.encode() if isinstance(stdin, str) else stdin
    return fork_server.run(arguments, os.environ, stdin=given)


def objects(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_for_people_a_table() -> None:
    done = run("describe", f"<http://urlib.net/{NAME}>")
    assert done.returncode == 0
    assert done.stderr == ""
    rows = dict(line.split(None, 1) for line in done.stdout.splitlines() if line)
    assert rows["label"] == NAME
    assert rows["canonical"] == "sid.inpe.br/mtc-m18/2009/02.16.17.46"
    assert rows["host"] == "mtc-m18.sid.inpe.br"
    assert rows["instant"] == "2009-02-16T17:46:00Z"
    assert "angle brackets around it were dropped" in done.stdout
    assert "a resolver's address before it was dropped" in done.stdout
    assert "\x1b" not in done.stdout


def test_for_people_warnings_check_character_and_what_a_legacy_label_stands_for() -> None:
    done = run("describe", "LK47B6W/362SFKH!", "6qtX3pFwXQZGivnK2Y/SskcB")
    assert "warning          every machine has this address" in done.stdout
    assert "check character  2" in done.stdout
    assert "followed by      !" in done.stdout
    assert "stands for  sid.inpe.br/mtc-m17/2007/12.14.14.17" in done.stdout


def test_for_programs_an_object_a_line() -> None:
    done = run("describe", "--json", NAME, IBIP)
    assert done.returncode == 0
    assert objects(done) == [
        {
            "given": NAME,
            "kind": "rep",
            "canonical": "sid.inpe.br/mtc-m18/2009/02.16.17.46",
            "host": "mtc-m18.sid.inpe.br",
            "port": 80,
            "instant": "2009-02-16T17:46:00Z",
            "cleaned": [],
            "warnings": [],
        },
        {
            "given": IBIP,
            "kind": "ibip",
            "canonical": IBIP,
            "ip": "150.163.34.242",
            "port": 800,
            "instant": "2013-09-04T12:27:57Z",
            "cleaned": [],
            "warnings": [],
        },
    ]


@pytest.mark.parametrize("options", [(), ("--check",), ("--json",), ("--strict", "--check")])
@pytest.mark.parametrize("text", ["", " ", "\n\t"])
def test_a_text_without_characters_is_refused_in_one_line(
    text: str, options: tuple[str, ...]
) -> None:
    done = run("describe", text, *options)
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert line.startswith("ibi: ")


def test_many_from_standard_input_in_their_order_blank_lines_left_out() -> None:
    labels = [f"{IBIP}W{digit}" for digit in "3456789ABC"] * 100
    done = run("describe", "--json", stdin="\r\n\n".join(labels) + "\n")
    assert [described["given"] for described in objects(done)] == labels


def test_a_bad_text_is_one_line_on_stderr_and_exit_code_1() -> None:
    done = run("describe", "8IMKD3MGP8W/34PGRBS", IBIP)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("ibi: '8IMKD3MGP8W/34PGRBS' is not an IBIp: the prefix, at")
    assert done.stderr.endswith("Did you mean 8JMKD3MGP8W/34PGRBS?\n")
    assert IBIP in done.stdout


def test_a_bad_line_is_numbered_and_has_its_object_too() -> None:
    done = run("describe", "--json", stdin=f"{IBIP}\nnonsense\n{IBIP}\n")
    assert done.returncode == 1
    assert done.stderr.startswith("ibi: line 2: 'nonsense' is not an IBI:")
    good, bad, _ = objects(done)
    assert good["kind"] == "ibip"
    assert bad["given"] == "nonsense"
    assert bad["error"]["position"] == 8
    assert bad["error"]["message"] in done.stderr


def test_the_future_is_known() -> None:
    done = run("describe", "--json", "a.br/b/9999/01.01.00.00")
    assert objects(done)[0]["warnings"] == ["in-the-future"]


def test_strict_takes_no_clean_ups() -> None:
    assert run("describe", "--strict", NAME).returncode == 0
    assert run("describe", "--strict", f" {NAME}").returncode == 1


@pytest.mark.parametrize(
    ("arguments", "stdin", "code"),
    [
        (["--check", IBIP, "6"], "", 0),
        ([IBIP, "--check", "6"], "", 0),
        (["--check", f"{IBIP} 6"], "", 0),
        (["--check"], f"{IBIP} 6\n", 0),
        (["--check", IBIP], "", 0),
        (["--check", IBIP, "LK47B6W/362SFKH", "2"], "", 0),
        (["--check", IBIP, "7"], "", 1),
        (["--check"], f"{IBIP} 7\n", 1),
        (["--check"], f"{IBIP}\t6\n", 0),
        (["--check"], f"{IBIP}\t7\n", 1),
        (["--check"], f"{IBIP}\u00a07\n", 1),
        (["--check", NAME, "6"], "", 1),
        (["--check", "6", IBIP], "", 1),
    ],
)
def test_a_check_character_is_verified_beside_its_label(
    arguments: list[str], stdin: str, code: int
) -> None:
    done = run("describe", *arguments, stdin=stdin)
    assert done.returncode == code, done.stderr


def test_a_check_character_is_in_the_object_when_asked_for() -> None:
    assert objects(run("describe", "--json", "--check", IBIP, NAME))[0]["check"] == "6"
    assert "check" not in objects(run("describe", "--json", IBIP))[0]
    wrong = run("describe", "--json", "--check", IBIP, "7")
    assert "is 6, not '7'" in objects(wrong)[0]["error"]["message"]


@pytest.mark.parametrize(
    "arguments", [["--no-such-option"], ["describe", "--no-such-option", IBIP], ["no-such-command"]]
)
def test_a_mistake_in_usage_is_one_line_and_exit_code_2(arguments: list[str]) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("ibi: No such ")
    assert "--help'" in done.stderr


def test_help_has_an_example_that_works() -> None:
    done = run("describe", "--help")
    assert done.returncode == 0
    assert "ibi describe --check 8JMKD3MGP7W/3EPGUE5 6" in done.stdout
    assert run("--version").stdout.startswith("ibi 0.")
    assert run().returncode == 2


@pytest.mark.parametrize(
    "line",
    [b"\xff\xfe\x00", b"\x1b[31mred", b"x" * 200_000, "é".encode() * 9_000, b"\0" * 10],
)
def test_hostile_lines_are_refused_in_one_line_each(line: bytes) -> None:
    done = run("describe", "--json", stdin=line + b"\n" + IBIP.encode() + b"\n")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.rstrip("\n").isprintable()
    bad, good = objects(done)
    assert "error" in bad
    assert good["given"] == IBIP


def test_a_tail_cannot_write_to_a_terminal() -> None:
    done = run("describe", "LK47B6W/362SFKH/\x1b]0;owned\x07 é")
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert r"/\x1b]0;owned\x07é" in done.stdout


def test_closed_standard_input_is_a_mistake_in_usage() -> None:
    done = subprocess.run(  # noqa: S602  # the shell closes it
        f"{IBI[0]} describe <&-", shell=True, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("ibi: Standard input is closed")


def test_a_reader_that_goes_away_is_no_error_to_shout_about() -> None:
    with subprocess.Popen(  # noqa: S603
        [*IBI, "describe", "--json"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        try:
            process.stdin.write(f"{IBIP}\n".encode() * 100_000)
            process.stdin.close()
        except BrokenPipeError:
            pass
        assert process.stderr.read() == b""
    assert process.returncode == 1


def on_a_terminal(arguments: list[str], typed: list[str], **environment: str) -> tuple[str, int]:
    """Run `ibi` on a pseudo-terminal, typing at each prompt; return what a person saw."""
    child, terminal = pty.fork()
    if child == 0:
        os.environ.pop("NO_COLOR", None)
        os.environ.update({"TERM": "xterm", **environment})
        os.execv(IBI[0], [*IBI, *arguments])  # noqa: S606
    seen, last = b"", b""
    waiting = iter(typed)
    prompts = patience = 0
    while True:
        ready, _, _ = select.select([terminal], [], [], 3)
        if not ready:
            # A key may reach a terminal just before its reader listens: a person presses it again.
            patience += 1
            assert patience < 20, f"nothing more came after {seen!r}"
            if last in {b"\x03", b"\x04"}:
                os.write(terminal, last)
            continue
        try:
            chunk = os.read(terminal, 4096)
        except OSError:  # how a pseudo-terminal says that the other side is gone
            break
        if not chunk:
            break
        seen += chunk
        if seen.count(b"ibi> ") > prompts:
            prompts = seen.count(b"ibi> ")
            last = next(waiting).encode()
            os.write(terminal, last)
    os.close(terminal)
    return seen.decode(), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_person_at_a_terminal_is_asked_and_sees_colours() -> None:
    seen, code = on_a_terminal(["describe"], [f"{IBIP}\n", "nonsense\n", "\n"])
    assert code == 0
    assert "Type or paste an identifier" in seen
    assert seen.count("ibi> ") == 3
    assert "\x1b[1m8JMKD3MGP7W/3EPGUE5" in seen
    assert "'nonsense' is not an IBI" in seen


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_who_wants_no_colours_sees_none(environment: dict[str, str]) -> None:
    seen, _ = on_a_terminal(["describe", IBIP], [], **environment)
    assert "\x1b[1m" not in seen
    assert IBIP in seen


def test_a_check_character_typed_beside_its_label_is_verified() -> None:
    seen, _ = on_a_terminal(["describe", "--check"], [f"{IBIP} 7\n", f"{IBIP}\t6\n", "\n"])
    assert "is 6, not '7'" in seen


@pytest.mark.parametrize("ending", ["\x04", "\x03"])
def test_the_end_of_input_and_an_interrupt_end_the_questions(ending: str) -> None:
    seen, code = on_a_terminal(["describe"], [ending])
    assert "ibi> " in seen
    assert "Traceback" not in seen
    assert code == 0


@pytest.mark.parametrize(
    ("redirection", "said"),
    [
        (">&-", "Standard output is closed"),
        (">/dev/full", "Cannot read or write: No space left on device."),
        ("0>/dev/null", ""),
    ],
)
@pytest.mark.parametrize("arguments", ["--json", ""])
def test_streams_that_cannot_be_used_are_one_line(
    redirection: str, said: str, arguments: str
) -> None:
    label = "" if redirection.startswith("0") else IBIP
    done = subprocess.run(  # noqa: S602  # the shell redirects
        f"{IBI[0]} describe {arguments} {label} {redirection}",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
        env={key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"},
    )
    assert done.returncode in {1, 2}
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith(f"ibi: {said}")


def test_answers_come_while_the_questions_go_on() -> None:
    with subprocess.Popen(  # noqa: S603
        [*IBI, "describe", "--json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin
        assert process.stdout
        for label in (IBIP, "LK47B6W/362SFKH"):
            process.stdin.write(f"{label}\n".encode())
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["given"] == label
        process.stdin.close()


def test_a_pipe_left_non_blocking_is_read_to_its_end() -> None:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    with subprocess.Popen(  # noqa: S603
        [*IBI, "describe", "--json"], stdin=reading, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        os.close(reading)
        for label in (IBIP, "LK47B6W/362SFKH"):
            os.write(writing, f"{label}\n".encode())
            assert json.loads(process.stdout.readline())["given"] == label
        os.close(writing)


@pytest.mark.parametrize(
    "text", [b"\xff", b"LK47B6W/362SFKH/\xff", b"\xc2\x9b31m", "\u202e".encode()]
)
@pytest.mark.parametrize("arguments", [["--json"], []])
def test_bytes_that_are_no_text_and_hidden_characters_are_never_written_raw(
    text: bytes, arguments: list[str]
) -> None:
    done = subprocess.run(  # noqa: S603
        [*(part.encode() for part in [*IBI, "describe", *arguments]), text],
        capture_output=True,
        check=False,
    )
    assert done.returncode in {0, 1}
    assert b"Traceback" not in done.stderr
    shown = (done.stdout + done.stderr).decode()
    assert shown.replace("\n", "").isprintable()


def test_a_terminal_without_the_characters_sees_them_escaped() -> None:
    done = subprocess.run(  # noqa: S603
        [*IBI, "describe", "LK47B6W/362SFKH/€"],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "latin-1"},
        check=True,
    )
    assert rb"/\u20ac" in done.stdout


def test_a_line_that_was_cut_is_not_taken_for_its_beginning() -> None:
    done = run("describe", "--json", stdin=f"{IBIP}{chr(13) * 200_000}NO LABEL")
    assert done.returncode == 1
    assert "at most 8192 characters" in done.stderr
