"""IIIF manifests of items with images, and the sizes of images that other software made."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from PIL import Image

from ibi.archive.web.item.image_size import image_size
from tests.support.servers.archive import ArchiveServer


def picture(kind: str, width: int, height: int, **options: object) -> bytes:
    """Return an image as another program writes it."""
    out = io.BytesIO()
    Image.new("RGB", (width, height), (90, 120, 60)).save(out, kind, **options)
    return out.getvalue()


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("PNG", {}),
        ("GIF", {}),
        ("JPEG", {}),
        ("JPEG", {"progressive": True, "icc_profile": b"x" * 100_000, "comment": b"a note"}),
        ("WEBP", {}),
        ("WEBP", {"lossless": True}),
        ("WEBP", {"exif": b"Exif\0\0II*\0\x08\0\0\0\0\0"}),
    ],
)
def test_the_size_of_an_image_is_in_its_head(kind: str, options: dict[str, object]) -> None:
    content = picture(kind, 301, 47, **options)
    assert image_size(content) == (301, 47)
    for end in range(0, min(len(content), 600), 7):  # whatever is cut off, nothing fails
        assert image_size(content[:end]) in {None, (301, 47)}
    for place in range(2, min(len(content), 200)):
        image_size(content[:place] + b"\xff" + content[place + 1 :])


def test_a_viewer_shows_the_images_of_an_item(tmp_path: Path) -> None:
    with ArchiveServer(tmp_path) as archive:
        files = {
            "b é.png": picture("PNG", 30, 20),
            "a.jpg": picture("JPEG", 640, 480),
            "notes.txt": b"no image",
            "broken.png": b"no image either",
        }
        metadata = {
            "titles": [{"value": "Photographs", "language": "en"}],
            "creators": ["Rivera, Ana"],
            "descriptions": ["Of the bay"],
            "licence": "CC-BY-4.0",
        }
        item = archive.deposit(files, target="b é.png", metadata=metadata)
        path = f"/iiif/{item['ibip']}/manifest.json"
        answer = archive.get(path, origin="https://viewer.example.org")
        assert answer.status == 200
        assert answer.headers["access-control-allow-origin"] == "*"
        assert answer.headers["content-type"].startswith("application/ld+json;profile=")
        value = json.loads(answer.body)
        assert (value["type"], value["id"]) == ("Manifest", archive.address + path)
        assert value["label"] == {"en": ["Photographs"]}
        assert value["rights"] == "http://creativecommons.org/licenses/by/4.0/"
        assert value["homepage"][0]["id"].endswith(f"/col/{item['metadata']['rep']}/doc/metadata")
        shown = [
            (each["width"], each["height"], each["items"][0]["items"][0]["body"])
            for each in value["items"]
        ]
        assert [each[:2] for each in shown] == [(30, 20), (640, 480)]
        for _, _, body in shown:
            image = archive.get(body["id"].removeprefix(archive.address))
            assert image.headers["content-type"] == body["format"]
        assert archive.ask("HEAD", path, token="").status == 200
        limited = archive.deposit(files, target="a.jpg", readers=["192.0.2.0/24"])
        text = archive.deposit({"a.txt": b"a"})
        for without in (limited, text):
            assert archive.get(f"/iiif/{without['ibip']}/manifest.json").status == 404
        for wrong in ("/iiif/manifest.json", "/iiif/example.org/x/manifest.json", "/iiif/"):
            assert archive.get(wrong).status == 404
