"""Which files an unpacking is writing: what must be cleared up if it does not come to its end."""

from __future__ import annotations

from pathlib import Path

from ibi.adapters.disk import replace_durably


class UnpackingNotes:
    """A file beside those of a deposit, one path a line: no path has a line end in it."""

    def __init__(self, folder: Path) -> None:
        """Use the folder of a deposit."""
        self._file = folder / "unpacking"

    def add(self, path: str) -> None:
        """Note a file that is about to be written."""
        with self._file.open("a", encoding="utf-8") as notes:
            notes.write(f"{path}\n")

    def paths(self) -> list[str]:
        """Return what was noted, and not forgotten."""
        text = self._file.read_text(encoding="utf-8") if self._file.exists() else ""
        return [path for path in text.split("\n") if path]

    def keep_only(self, path: str) -> None:
        """Forget all others at once: they are to stay."""
        replace_durably(self._file, f"{path}\n".encode())

    def forget(self) -> None:
        """Forget everything."""
        self._file.unlink(missing_ok=True)
