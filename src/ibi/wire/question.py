"""The question of a reader to a resolver (004, Table 6.6)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from ibi.errors import ResolverRequestError, Sentence
from ibi.identifier.label import Label, parse
from ibi.identifier.language_preference import LanguagePreference
from ibi.identifier.persistent_url import PersistentUrl
from ibi.identifier.verbs import GetTranslation, Verb
from ibi.wire.requests import UrlRequest

SearchKey: TypeAlias = tuple[str, tuple[Verb, ...], bool, str]
"""What archives are asked, without the client: questions with equal keys share one search."""

# An archive refuses a request with control characters, which must not make it appear to be down.
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Question:
    """An item, and the form in which a reader wants it.

    The last two fields are never sent to archives: the languages of a reader are private, and a
    rogue archive must not learn when Originals are compared.
    """

    label: Label
    verbs: tuple[Verb, ...] = ()
    file_list: bool = False
    path: str = ""
    original_required: bool = False
    preference: LanguagePreference = field(default_factory=LanguagePreference)

    @classmethod
    def of(cls, wanted: PersistentUrl, preference: LanguagePreference) -> Question:
        """Return the question of a persistent URL; a language in the URL precedes all others."""
        if _CONTROL.search(wanted.path):
            raise ResolverRequestError(
                Sentence("The path has control characters: no file has such a name.")
            )
        if wanted.language is not None:
            preference = preference.preferring(wanted.language)
        return cls(
            wanted.label,
            wanted.verbs,
            wanted.file_list,
            wanted.path,
            wanted.original_required,
            preference,
        )

    @property
    def search(self) -> SearchKey:
        """The part of the question that is sent to archives."""
        return self.label.canonical, self.verbs, self.file_list, self.path

    @property
    def depends_on_reader(self) -> bool:
        """Whether readers of other languages may be redirected elsewhere."""
        return any(isinstance(verb, GetTranslation) and not verb.language for verb in self.verbs)

    @property
    def bare(self) -> Question:
        """The same question without required status and language preference."""
        return Question(self.label, self.verbs, self.file_list, self.path)

    def request(self, clients: tuple[str, ...]) -> UrlRequest:
        """Return the request to archives (Table 6.9)."""
        return UrlRequest(clients, self.label, self.verbs, self.file_list, self.path)

    def onward(self, label: Label, verbs: tuple[Verb, ...]) -> Question:
        """Return the question to continue with from another item, by the verbs that remain."""
        return replace(self, label=label, verbs=verbs)

    @property
    def persistent_url(self) -> PersistentUrl:
        """The persistent URL to cite: in the canonical spelling, however it was asked for.

        It contains neither the required status nor a preferred language.
        """
        label = parse(self.label.canonical, strict=True)
        return PersistentUrl(label, self.verbs, self.file_list, self.path)
