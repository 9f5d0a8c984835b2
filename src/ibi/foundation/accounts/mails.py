"""Messages to people with accounts, in their language."""

from __future__ import annotations

from ibi.errors import Sentence
from ibi.foundation.translation.language import page_language, translated, translations
from ibi.identifier.language_preference import LanguagePreference


def reset(site: str, name: str, url: str, reader: LanguagePreference) -> tuple[str, str]:
    """Return subject and text of the message with a link for a new password."""
    subject = Sentence("New password at %(site)s", site=_line(site))
    text = Sentence(
        "Somebody, probably you, asked for a new password of the account %(name)s at %(site)s. "
        "Set it here within an hour; the link works once:",
        name=name,
        site=_line(site),
    )
    end = Sentence("If it was not you, nothing has to be done: your password stays as it is.")
    return _message(subject, text, url, end, reader)


def invitation(site: str, url: str, reader: LanguagePreference) -> tuple[str, str]:
    """Return subject and text of the message with an invitation."""
    subject = Sentence("Your account at %(site)s", site=_line(site))
    text = Sentence(
        "You are invited to an account at %(site)s. Choose your name and your password here "
        "within a week; the link works once:",
        site=_line(site),
    )
    end = Sentence("If you do not expect this, nothing has to be done.")
    return _message(subject, text, url, end, reader)


def _message(
    subject: Sentence, text: Sentence, url: str, end: Sentence, reader: LanguagePreference
) -> tuple[str, str]:
    words = translations(page_language(reader).code)
    parts = (translated(words, text), url, translated(words, end))
    return translated(words, subject), "\n\n".join(parts) + "\n"


def _line(text: str) -> str:
    return " ".join(text.split())
