"""The languages of a record: which it is written in, its texts in one of them, and new texts.

Each text of a record has a language tag or none. Texts without one are in the language of the
metadata item, `default`, which may be unknown. Languages whose texts have a title or a description
are translations of the metadata (004, Example 7.5: `.metadata.translation(en)`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from ibi.errors import LanguageError, MetadataError, Sentence, shown
from ibi.identifier.language import Language
from ibi.metadata.dublin_core import ELEMENTS
from ibi.metadata.json_record import record_as_dict, record_from
from ibi.model.metadata_record import MetadataRecord, Text

TRANSLATED: Final = ("titles", "descriptions", "subjects")
"""The fields of which a depositor gives the texts in a further language."""
MOST_LANGUAGES: Final = 40
"""The most languages in which one record is offered: archives name each of them to resolvers."""
_TEXTS: Final = (*TRANSLATED, "coverages", "rights")
_NAMES: Final = {"keywords": "subjects"} | {name: name for name in TRANSLATED} | ELEMENTS


def languages_of(record: MetadataRecord, default: Language | None) -> tuple[Language | None, ...]:
    """Return the languages of titles and descriptions, in their order; None is an unknown one.

    The first is the main language: that of the main title. Tags that are no language of ISO 639-1,
    alone or with a country, cannot be asked for and are left out.
    """
    tagged = [text for text in (*record.titles, *record.descriptions) if _is_known(text)]
    found = dict.fromkeys(_language(text, default) for text in tagged)
    return tuple(found)[:MOST_LANGUAGES] or (None,)


def in_language(
    record: MetadataRecord, default: Language | None, wanted: Language | None
) -> MetadataRecord:
    """Return the record with its texts in one language only.

    An element that has no text in it keeps those in the main language, else all that it has.
    """
    main = languages_of(record, default)[0]

    def chosen(texts: tuple[Text, ...]) -> tuple[Text, ...]:
        known = [text for text in texts if _is_known(text)]
        for language in (wanted, main):
            found = tuple(text for text in known if _language(text, default) == language)
            if found:
                return found
        return texts

    return replace(
        record,
        titles=chosen(record.titles),
        descriptions=chosen(record.descriptions),
        subjects=chosen(record.subjects),
        coverages=chosen(record.coverages),
        rights=chosen(record.rights),
    )


def with_texts(
    record: MetadataRecord,
    default: Language | None,
    language: Language | None,
    given: Mapping[str, object] | None,
) -> MetadataRecord:
    """Return the record with other texts in a language; None as language is the main one.

    Fields that are not given stay; None instead of fields removes all texts in the language.
    """
    title = record.title
    own = _language(title, default) if _is_known(title) else None
    is_main = language is None or language == own

    def is_replaced(text: Text) -> bool:
        if is_main and text.language == title.language:
            return True
        return _is_known(text) and _language(text, default) == (own if is_main else language)

    plain = record_as_dict(record)
    texts = dict.fromkeys(_TEXTS) if given is None else _fields(given)
    for name, values in texts.items():
        kept = _plain([text for text in getattr(record, name) if not is_replaced(text)])
        # The new texts are tagged as the main title is, if they are in its language.
        new = _tagged(name, values, title.language if is_main else str(language))
        plain[name] = [*new, *kept] if is_main else [*kept, *new]
    return record_from(plain)


def _is_known(text: Text) -> bool:
    return not text.language or _parsed(text.language) is not None


def _language(text: Text, default: Language | None) -> Language | None:
    return _parsed(text.language) if text.language else default


def _parsed(tag: str) -> Language | None:
    try:
        return Language.parse(tag)
    except LanguageError:
        return None


def _fields(given: Mapping[str, object]) -> dict[str, object]:
    fields: dict[str, object] = {}
    for name, values in given.items():
        field = _NAMES.get(name)
        if field not in TRANSLATED:
            known = ", ".join(TRANSLATED)
            msg = Sentence(
                "%(name)s is not given by language: only %(known)s are.",
                name=shown(name),
                known=known,
            )
            raise MetadataError(msg)
        if field in fields:
            raise MetadataError(
                Sentence("The element %(name)s is given twice, by two of its names.", name=field)
            )
        fields[field] = values
    return fields


def _tagged(name: str, values: object, tag: str) -> list[dict[str, Any]]:
    """Return values as texts in a language; each is checked when the whole record is read."""
    listed: Sequence[object] = values if isinstance(values, list | tuple) else [values]
    texts: list[dict[str, Any]] = []
    for value in listed:
        if value is None:
            continue
        parts = dict(value) if isinstance(value, Mapping) else {"value": value}
        if parts.get("language", tag) != tag:
            msg = Sentence(
                "The element %(name)s has a text in another language than it is given for.",
                name=name,
            )
            raise MetadataError(msg)
        texts.append({**parts, "language": tag} if tag else parts)
    return texts


def _plain(texts: Sequence[Text]) -> list[dict[str, str]]:
    return [{"value": text.value, "language": text.language} for text in texts]
