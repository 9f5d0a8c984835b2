"""Media types of files: as the depositor declared, otherwise by the suffix of the name.

The table is part of the program: that of the operating system differs between machines, and an
archive must give a file the same type wherever it runs.
"""

from __future__ import annotations

import codecs
import re
from typing import Final

from ibi.foundation.web.header_values import content_disposition, header_safe
from ibi.model.item import File

UNKNOWN: Final = "application/octet-stream"
LONGEST: Final = 255

# RFC 9110, 8.3.1.   media-type = type "/" subtype parameters
_MEDIA_TYPE: Final = re.compile(
    r"[A-Za-z0-9!#$%&'*+.^_`|~-]+/[A-Za-z0-9!#$%&'*+.^_`|~-]+(?:[ \t]*;[\x20-\x7e\t]*)?"
)

_BY_SUFFIX: Final = {
    suffix: media_type
    for media_type, suffixes in {
        "application/epub+zip": "epub",
        "application/geo+json": "geojson",
        "application/gml+xml": "gml",
        "application/gzip": "gz tgz",
        "application/java-archive": "jar",
        "application/json": "json map",
        "application/ld+json": "jsonld",
        "application/msword": "doc dot",
        "application/pdf": "pdf",
        "application/postscript": "ps eps ai",
        "application/rdf+xml": "rdf",
        "application/rtf": "rtf",
        "application/vnd.google-earth.kml+xml": "kml",
        "application/vnd.google-earth.kmz": "kmz",
        "application/vnd.ms-excel": "xls",
        "application/vnd.ms-powerpoint": "ppt pps",
        "application/vnd.oasis.opendocument.presentation": "odp",
        "application/vnd.oasis.opendocument.spreadsheet": "ods",
        "application/vnd.oasis.opendocument.text": "odt",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
        "application/vnd.rar": "rar",
        "application/vnd.sqlite3": "sqlite gpkg",
        "application/warc": "warc",
        "application/x-7z-compressed": "7z",
        "application/x-bzip2": "bz2",
        "application/x-hdf5": "h5 hdf5 he5",
        "application/x-netcdf": "nc cdf",
        "application/x-tar": "tar",
        "application/x-tex": "tex sty cls",
        "application/x-xz": "xz",
        "application/xhtml+xml": "xhtml xht",
        "application/xml": "xml xsd xsl xslt",
        "application/zip": "zip",
        "application/zstd": "zst",
        "audio/aac": "aac",
        "audio/flac": "flac",
        "audio/midi": "mid midi",
        "audio/mp4": "m4a",
        "audio/mpeg": "mp3 mp2",
        "audio/ogg": "ogg oga opus",
        "audio/wav": "wav",
        "font/otf": "otf",
        "font/ttf": "ttf",
        "font/woff": "woff",
        "font/woff2": "woff2",
        "image/avif": "avif",
        "image/bmp": "bmp",
        "image/gif": "gif",
        "image/heic": "heic",
        "image/jp2": "jp2",
        "image/jpeg": "jpg jpeg jpe jfif",
        "image/jxl": "jxl",
        "image/png": "png",
        "image/svg+xml": "svg svgz",
        "image/tiff": "tif tiff",
        "image/vnd.djvu": "djvu djv",
        "image/vnd.microsoft.icon": "ico",
        "image/webp": "webp",
        "message/rfc822": "eml",
        "text/calendar": "ics",
        "text/css": "css",
        "text/csv": "csv",
        "text/html": "html htm shtml",
        "text/javascript": "js mjs",
        "text/markdown": "md markdown",
        "text/plain": "txt text asc log c h cc cpp f f90 for java m pl pro py r sh tcl ini cfg bib",
        "text/tab-separated-values": "tsv",
        "text/turtle": "ttl",
        "text/vcard": "vcf",
        "text/vtt": "vtt",
        "video/mp4": "mp4 m4v",
        "video/mpeg": "mpg mpeg",
        "video/ogg": "ogv",
        "video/quicktime": "mov qt",
        "video/webm": "webm",
        "video/x-matroska": "mkv",
        "video/x-msvideo": "avi",
    }.items()
    for suffix in suffixes.split()
}


def media_type_of(name: str, declared: str = "") -> str:
    """Return the media type of a file: the declared one if it is valid, else by the name."""
    if len(declared) <= LONGEST and _MEDIA_TYPE.fullmatch(declared):
        return declared
    _, _, suffix = name.rpartition("/")[2].rpartition(".")
    return _BY_SUFFIX.get(suffix.lower(), UNKNOWN)


def wants_charset(media_type: str) -> bool:
    """Return whether a media type is one of text without a charset."""
    return media_type.startswith("text/") and "charset" not in media_type.lower()


def with_charset(media_type: str, beginning: bytes, *, is_whole: bool) -> str:
    """Add the charset UTF-8 to the type of a text, if its beginning is UTF-8.

    A page in HTML may name its charset itself, which a header would overrule: so a page whose
    beginning is ASCII gets no charset.
    """
    is_silent = media_type.startswith("text/html") and beginning.isascii()
    try:
        # A character may be cut in two where the beginning ends.
        codecs.getincrementaldecoder("utf-8")().decode(beginning, is_whole)
    except UnicodeDecodeError:
        return media_type
    return media_type if is_silent else f"{media_type}; charset=utf-8"


_SHORT_NAMES: Final = {
    "application/octet-stream": "",
    "image/tiff": "TIFF",
    "text/html": "HTML",
    "text/markdown": "Markdown",
    "text/plain": "TXT",
}
_LONGEST_SUFFIX: Final = 8

_BY_BROWSERS: Final = re.compile(
    r"application/(?:json|pdf|xhtml\+xml|xml)|text/(?:css|html|javascript|plain|xml)"
    r"|image/(?:avif|bmp|gif|jpeg|png|svg\+xml|vnd\.microsoft\.icon|webp)"
    r"|audio/(?:aac|flac|mp4|mpeg|ogg|wav)|video/(?:mp4|ogg|webm)"
)
"""Types that all common browsers show; they offer to save CSV, Markdown and all others."""


def short_name(file: File) -> str:
    """Return the type of a file as people call it: mostly the suffix of its name."""
    media_type = bare(media_type_of(file.path, file.media_type))
    if media_type in _SHORT_NAMES:
        return _SHORT_NAMES[media_type]
    _, dot, suffix = file.path.rpartition("/")[2].rpartition(".")
    is_usual = dot and suffix.isalnum() and len(suffix) <= _LONGEST_SUFFIX
    return suffix.upper() if is_usual else media_type


def bare(media_type: str) -> str:
    """Return a media type without its parameters, in lower case."""
    return media_type.partition(";")[0].strip().lower()


def is_shown(file: File) -> bool:
    """Return whether browsers show a file, rather than offer to save it."""
    return _BY_BROWSERS.fullmatch(bare(media_type_of(file.path, file.media_type))) is not None


_SHOWN: Final = re.compile(
    r"(?:application/pdf|text/plain|audio/[a-z0-9.+-]+|video/[a-z0-9.+-]+"
    r"|image/(?:avif|bmp|gif|jpeg|jxl|png|webp))"
)


def stored_headers(file: File) -> dict[str, str]:
    """Return the headers that an object store keeps with a file."""
    media_type = media_type_of(file.path, file.media_type)
    is_shown_safely = _SHOWN.fullmatch(bare(media_type))
    name = file.path.rpartition("/")[2]
    return {
        "Content-Type": header_safe(media_type),
        "Content-Disposition": content_disposition(name, attachment=is_shown_safely is None),
    }
