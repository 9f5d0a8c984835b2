"""The sentences in the source of the programs, which pages show in the language of a reader."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import ibi


def sentence_templates() -> Iterator[str]:
    """Yield the template of each Sentence that stands in the source."""
    for file in sorted(Path(ibi.__file__).parent.rglob("*.py")):
        text = file.read_text("utf-8")
        for node in ast.walk(ast.parse(text)) if "Sentence(" in text else ():
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Sentence" and node.args:
                first = node.args[0]
                if isinstance(first, ast.Constant):
                    yield str(first.value)
