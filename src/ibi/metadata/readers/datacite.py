"""DataCite's metadata as JSON, of its API or alone (schema 4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from ibi.errors import MetadataError, Sentence, shown
from ibi.metadata.choices import item_type
from ibi.metadata.orcid import read_orcid
from ibi.metadata.readers.json_text import object_in
from ibi.metadata.readers.reading import (
    Gathering,
    Reading,
    objects_in,
    one_line,
    paragraphs,
    text_in,
    texts_in,
)
from ibi.metadata.readers.words import date_of, language_of, type_of, type_of_general
from ibi.metadata.vocabulary import ROLES
from ibi.model.metadata_record import UNKNOWN
from ibi.wire.addresses import is_web_address

_UNKNOWN: Final = frozenset((UNKNOWN, ":unav", ":unas", ":none", ":null", "(:unkn)", "(:unav)"))
"""What DataCite writes where nothing is known (appendix 3)."""
_READ: Final = frozenset(
    (
        *("titles", "creators", "contributors", "publisher", "publicationYear", "types", "dates"),
        *("subjects", "descriptions", "language", "formats", "rightsList", "relatedIdentifiers"),
        *("fundingReferences", "doi", "identifiers", "alternateIdentifiers", "identifier"),
        *("resourceType", "geoLocations"),
    )
)
_OF_THE_REGISTRY: Final = frozenset(
    (
        *("id", "prefix", "suffix", "url", "contentUrl", "schemaVersion", "source", "isActive"),
        *("state", "reason", "created", "registered", "published", "updated", "metadataVersion"),
        *("viewCount", "downloadCount", "citationCount", "referenceCount", "partCount", "xml"),
        *("partOfCount", "versionCount", "versionOfCount", "viewsOverTime", "downloadsOverTime"),
        *("citationsOverTime", "container", "agency", "providerId", "clientId", "landingPage"),
    )
)
"""Fields that say something of the registration, and nothing of the work."""


def read(content: bytes) -> Reading:
    """Read the metadata of one DOI; MetadataError if there is none."""
    given = object_in(content)
    data = given.get("data", given)
    inner = data.get("attributes", data) if isinstance(data, Mapping) else given
    return reading_of(inner if isinstance(inner, Mapping) else given)


def reading_of(attributes: Mapping[str, object]) -> Reading:
    """Read metadata in the form of DataCite's JSON."""
    gathering = Gathering()
    _Attributes(attributes, gathering).read()
    return gathering.reading()


class _Attributes:
    def __init__(self, attributes: Mapping[str, object], gathering: Gathering) -> None:
        self._all = attributes
        self._gathering = gathering

    def read(self) -> None:
        add = self._gathering.add
        self._titles()
        self._people("creators")
        self._people("contributors")
        publisher = self._all.get("publisher")
        names = [_named(each, "name") for each in objects_in(publisher)] or texts_in(publisher)
        add("publishers", [one_line(name) for name in names if name not in _UNKNOWN], "publisher")
        self._dates()
        self._types()
        self._tagged("subjects", "subject", one_line)
        self._tagged("descriptions", "description", paragraphs)
        add(
            "languages",
            list(map(self._tag, texts_in(self._all.get("language")))),
            "language",
        )
        add("formats", [one_line(each) for each in texts_in(self._all.get("formats"))], "formats")
        self._rights()
        self._places()
        self._related()
        self._funding()
        self._identifiers()
        self._gathering.left_out(
            sorted(
                name
                for name, value in self._all.items()
                if value and name not in _READ and name not in _OF_THE_REGISTRY
            )
        )

    def _tag(self, text: str) -> str:
        tag = language_of(text) if text else ""
        if text and not tag:
            self._gathering.doubt(Sentence("The language %(text)s is not known.", text=shown(text)))
        return tag

    def _titles(self) -> None:
        titles = objects_in(self._all.get("titles"))
        main = [each for each in titles if not each.get("titleType")]
        others = [each for each in titles if each.get("titleType") not in {None, "", "Subtitle"}]
        subtitles = [each for each in titles if each.get("titleType") == "Subtitle"]
        for number, each in enumerate(main):
            text = one_line(text_in(each.get("title")))
            if number == 0 and subtitles:
                text = ": ".join((text, one_line(text_in(subtitles[0].get("title")))))
            self._gathering.add_texts("titles", [text], "title", self._lang(each))
        for each in others:
            text = one_line(text_in(each.get("title")))
            self._gathering.add_texts("titles", [text], "title", self._lang(each))

    def _lang(self, value: Mapping[str, object]) -> str:
        return self._tag(text_in(value.get("lang")))

    def _tagged(self, field: str, part: str, clean: Callable[[str], str]) -> None:
        for each in objects_in(self._all.get(field)):
            text = clean(text_in(each.get(part)))
            self._gathering.add_texts(field, [text], part, self._lang(each))

    # --- people -----------------------------------------------------------------------------------

    def _people(self, field: str) -> None:
        for each in objects_in(self._all.get(field)):
            person = self._person(each)
            if not person:
                continue
            if field == "contributors":
                person |= self._role(text_in(each.get("contributorType")))
            self._gathering.add(field, person, field)

    def _person(self, given: Mapping[str, object]) -> dict[str, str]:
        name, family, first = (
            one_line(text_in(given.get(part))) for part in ("name", "familyName", "givenName")
        )
        if name in _UNKNOWN:
            return {"name": UNKNOWN}
        if family:
            parts = {"family": family, "given": first}
        elif given.get("nameType") == "Organizational" or "," not in name:
            parts = {"name": name}
        else:
            last, _, rest = (part.strip() for part in name.partition(","))
            parts = {"family": last, "given": rest} if last and rest else {"name": name.strip(", ")}
        kept = {part: text for part, text in parts.items() if text}
        if not kept:
            return {}
        affiliations = [_named(each, "name") for each in objects_in(given.get("affiliation"))]
        affiliations += texts_in(given.get("affiliation"))
        known = {
            "orcid": self._orcid(given),
            "affiliation": "; ".join(dict.fromkeys(map(one_line, filter(None, affiliations)))),
        }
        return kept | {part: text for part, text in known.items() if text}

    def _orcid(self, given: Mapping[str, object]) -> str:
        for each in objects_in(given.get("nameIdentifiers")):
            text = text_in(each.get("nameIdentifier"))
            if "orcid" not in f"{each.get('nameIdentifierScheme')} {text}".lower():
                continue
            try:
                return read_orcid(text)
            except MetadataError as fault:
                self._gathering.doubt(fault.message())
        return ""

    def _role(self, kind: str) -> dict[str, str]:
        if kind in ROLES:
            return {"role": kind}
        if kind and kind != "Funder":
            self._gathering.doubt(
                Sentence("The role %(role)s of a contributor is not known.", role=shown(kind))
            )
        return {}

    # --- what it is -------------------------------------------------------------------------------

    def _dates(self) -> None:
        dates = objects_in(self._all.get("dates"))
        year = text_in(self._all.get("publicationYear"))
        issued = [
            text_in(each.get("date"))
            for kind in ("Issued", "Available", "Created")
            for each in dates
            if each.get("dateType") == kind
        ]
        exact = [text for text in issued if text.startswith(year)] if year else issued
        for text in (*exact[:1], year):
            found = text if date_of(text) else date_of(*text.split("T")[0].split("-"))
            if found:
                self._gathering.add("dates", found, "publicationYear")
                break
        else:
            if year and year not in _UNKNOWN:
                what = Sentence("The year %(year)s cannot be read.", year=shown(year))
                self._gathering.doubt(what)
        read = {"Issued", "Available", "Created", "Submitted", "Accepted", "Updated", "Copyrighted"}
        kinds = (text_in(each.get("dateType")) for each in dates)
        self._gathering.left_out(dict.fromkeys(kind for kind in kinds if kind not in read))

    def _types(self) -> None:
        for types in objects_in(self._all.get("types")):
            general = text_in(types.get("resourceTypeGeneral"))
            exact = one_line(text_in(types.get("resourceType")))
            listed = type_of(exact) if exact else ""
            known = item_type(exact)
            if listed != exact or not general or (known and known.general == general):
                self._gathering.add("types", listed, "resourceType")
                continue
            self._gathering.add("types", type_of_general(general), "resourceTypeGeneral")
            self._gathering.add("types", exact, "resourceType")

    def _rights(self) -> None:
        for rights in objects_in(self._all.get("rightsList")):
            scheme = text_in(rights.get("rightsIdentifierScheme")).upper()
            identifier = text_in(rights.get("rightsIdentifier"))
            address = text_in(rights.get("rightsUri"))
            text = one_line(text_in(rights.get("rights")))
            if address.startswith("info:eu-repo/") or (address and not identifier and not text):
                self._gathering.add_licence(address, "rights")
            elif identifier and (scheme == "SPDX" or not address):
                self._gathering.add_licence(identifier, "rightsIdentifier")
            elif address:
                self._gathering.add_licence(address, "rightsUri")
            elif tag := self._lang(rights):
                self._gathering.add_texts("rights", [text], "rights", tag)
            else:
                self._gathering.add_licence(text, "rights")

    def _places(self) -> None:
        for each in objects_in(self._all.get("geoLocations")):
            place = one_line(text_in(each.get("geoLocationPlace")))
            self._gathering.add("coverages", place, "geoLocationPlace")
            self._gathering.left_out(sorted(set(each) - {"geoLocationPlace"}))

    # --- what belongs to it -----------------------------------------------------------------------

    def _related(self) -> None:
        for each in objects_in(self._all.get("relatedIdentifiers")):
            parts = {
                "relation": text_in(each.get("relationType")),
                "scheme": text_in(each.get("relatedIdentifierType")),
                "identifier": one_line(text_in(each.get("relatedIdentifier"))),
            }
            self._gathering.add("related", parts, "relatedIdentifier")

    def _funding(self) -> None:
        for each in objects_in(self._all.get("fundingReferences")):
            parts = {
                "funder": text_in(each.get("funderName")),
                "funder_id": text_in(each.get("funderIdentifier")),
                "award": text_in(each.get("awardNumber")) or text_in(each.get("awardUri")),
                "title": text_in(each.get("awardTitle")),
            }
            clean = {name: one_line(text) for name, text in parts.items() if text}
            self._gathering.add("funding", clean, "fundingReference")

    def _identifiers(self) -> None:
        for text in (*texts_in(self._all.get("doi")), *texts_in(self._all.get("identifier"))):
            self._gathering.add_identifier(text, "doi")
        for field, part in (
            ("identifiers", "identifier"),
            ("alternateIdentifiers", "alternateIdentifier"),
        ):
            for each in objects_in(self._all.get(field)):
                text = one_line(text_in(each.get(part)))
                kind = text_in(each.get(f"{part}Type"))
                if text and not (is_web_address(text) and text.endswith(self._own())):
                    known = kind.upper() in {"ISBN", "ISSN", "IBI"}
                    self._gathering.add_identifier(f"{kind}:{text}" if known else text, part)

    def _own(self) -> tuple[str, ...]:
        """Return how the item's own addresses end: a slash and one of its labels."""
        others = objects_in(self._all.get("alternateIdentifiers"))
        return tuple(
            f"/{text_in(each.get('alternateIdentifier'))}"
            for each in others
            if text_in(each.get("alternateIdentifierType")) == "IBI"
        )


def _named(value: Mapping[str, object], part: str) -> str:
    return text_in(value.get(part))
