"""What a reader asks of a resolver (004, Table 6.6)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from ibi.errors import ResolverRequestError
from ibi.identifier.label import Label, parse
from ibi.identifier.language import LanguagePreference
from ibi.identifier.persistent_url import PersistentUrl
from ibi.identifier.verbs import GetTranslation, Verb
from ibi.wire.requests import UrlRequest

SearchKey: TypeAlias = tuple[str, tuple[Verb, ...], bool, str]
"""What archives are asked, but for the client: equal ones are one search."""

# An archive refuses a request that has one: whoever asks for that must not make it seem down.
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Question:
    """An item, and how a reader wants it.

    Archives are told what is asked, never the last two fields: which language a reader prefers is
    nobody's business, and a rogue archive must not know when Originals are looked at.
    """

    label: Label
    verbs: tuple[Verb, ...] = ()
    file_list: bool = False
    path: str = ""
    original_required: bool = False
    preference: LanguagePreference = field(default_factory=LanguagePreference)

    @classmethod
    def of(cls, wanted: PersistentUrl, preference: LanguagePreference) -> Question:
        """Ask what a persistent URL asks; a language that it carries goes before all others."""
        if _CONTROL.search(wanted.path):
            raise ResolverRequestError("The path has control characters: no file has such a name.")
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
        """What archives are asked."""
        return self.label.canonical, self.verbs, self.file_list, self.path

    @property
    def depends_on_reader(self) -> bool:
        """Whether readers of other languages may be sent elsewhere."""
        return any(isinstance(verb, GetTranslation) and not verb.language for verb in self.verbs)

    @property
    def bare(self) -> Question:
        """The same, of a reader who wants nothing special."""
        return Question(self.label, self.verbs, self.file_list, self.path)

    def request(self, clients: tuple[str, ...]) -> UrlRequest:
        """Return the request to archives (Table 6.9)."""
        return UrlRequest(clients, self.label, self.verbs, self.file_list, self.path)

    def onward(self, label: Label, verbs: tuple[Verb, ...]) -> Question:
        """Return the question to go on with from another item, by the verbs that remain."""
        return replace(self, label=label, verbs=verbs)

    @property
    def persistent_url(self) -> PersistentUrl:
        """The persistent URL that archives are told with an acknowledgment (Table 6.11).

        It is the one to cite, so the label is in its canonical spelling, however it was asked for.
        Neither the required status nor a preferred language stands in it.
        """
        label = parse(self.label.canonical, strict=True)
        return PersistentUrl(label, self.verbs, self.file_list, self.path)
