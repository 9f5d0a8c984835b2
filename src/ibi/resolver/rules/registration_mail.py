"""The e-mail that registers an archive (004, Example 5.1), and those that answer it.

    Subject: Cadastro de um novo Arquivo

    IBI do serviço de Arquivo:
    archiveserviceibi = dpi.inpe.br/banon/1999/01.09.22.14

    Chave de cadastro:
    registrationkey = 1234567890

People write it, and mail programs change it: other lines are ignored, and so is the quotation of an
earlier message where the message itself has the same line. An error is described in one sentence,
which repeats nothing of the message, because the key may be anywhere in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ibi.errors import KeyTextError, LabelError, ResolverRequestError
from ibi.identifier.label import Label, parse
from ibi.model.archive_record import RegistrationKey
from ibi.wire.addresses import is_mail_address

SUBJECTS: Final = ("Cadastro de um novo Arquivo", "Registration of a new Archive")
"""The subject of the standard, and the same in English."""
SERVICE: Final = "archiveserviceibi"
KEY: Final = "registrationkey"
_RIGHT: Final = {
    SERVICE: f"{SERVICE} = dpi.inpe.br/banon/1999/01.09.22.14",
    KEY: f"{KEY} = ten or more digits, or two such numbers with a hyphen between them",
}
# Prefixes that mail programs add to the subject of an answer or of a forwarded message.
_ANSWERS: Final = re.compile(r"(?:(?:re|res|fw|fwd|enc) ?: ?)*", re.IGNORECASE)
_QUOTATION: Final = re.compile(r"(?:\s*>)+")


@dataclass(frozen=True, slots=True)
class MailedRegistration:
    """A registration that an administrator requests by e-mail."""

    service: Label
    key: RegistrationKey
    administrator: str
    """The address in the From field of the message, which anyone can forge."""


def read(subject: str, sender: str, text: str) -> MailedRegistration:
    """Parse a message; raise ResolverRequestError, with a correct example, if a line is missing."""
    if not _is_registration(subject):
        expected = " or ".join(f'"{each}"' for each in SUBJECTS)
        raise ResolverRequestError(
            f"The message registers no archive: its subject would be {expected}."
        )
    administrator = _address(sender)
    if not is_mail_address(administrator):
        raise ResolverRequestError(
            "The message is from nobody who can be answered: its sender would be an e-mail "
            "address, as name@example.org."
        )
    own, quoted = _values(text)
    return MailedRegistration(
        _label(_one(SERVICE, own, quoted)), _key(_one(KEY, own, quoted)), administrator
    )


def _is_registration(subject: str) -> bool:
    rest = _ANSWERS.sub("", " ".join(subject.split()), count=1)
    return rest.rstrip(" .").casefold() in {each.casefold() for each in SUBJECTS}


def _address(sender: str) -> str:
    """Return the address alone, also of `Name <address>`."""
    return sender.rpartition("<")[2].partition(">")[0].strip()


_Values = dict[str, set[str]]


def _values(text: str) -> tuple[_Values, _Values]:
    """Return the values of the message by name, and those of the text that it quotes."""
    own: _Values = {}
    quoted: _Values = {}
    for is_quoted, line in _lines(text):
        name, equals, value = line.partition("=")
        name = name.strip().lower()
        if equals and name in _RIGHT:
            (quoted if is_quoted else own).setdefault(name, set()).add(value.strip())
    return own, quoted


def _lines(text: str) -> Iterator[tuple[bool, str]]:
    for line in text.splitlines():
        quotation = _QUOTATION.match(line)
        yield quotation is not None, line[quotation.end() :] if quotation else line


def _one(name: str, own: _Values, quoted: _Values) -> str:
    """Return the one value of a name; a value of the message comes before one that it quotes."""
    values = own.get(name) or quoted.get(name) or set()
    if not values:
        raise ResolverRequestError(
            f"The message does not say its {name}: a line of its plain text would be {_RIGHT[name]}"
        )
    if len(values) > 1:
        raise ResolverRequestError(
            f"The message says more than one {name}: one line would be {_RIGHT[name]}"
        )
    return values.pop()


def _label(value: str) -> Label:
    try:
        return parse(value)
    except LabelError:
        raise _unreadable(SERVICE, "label") from None


def _key(value: str) -> RegistrationKey:
    try:
        return RegistrationKey(value)
    except KeyTextError:
        raise _unreadable(KEY, "key") from None


def _unreadable(name: str, what: str) -> ResolverRequestError:
    return ResolverRequestError(
        f"The {name} of the message is no {what}: right would be {_RIGHT[name]}"
    )


def pending_notice(service: Label, resolver: str) -> tuple[str, str]:
    """Return subject and text of the message to the administrator when a request has arrived."""
    return (
        f"Cadastro pendente / Pending: {service.canonical}",
        f"""\
O pedido de cadastro do Arquivo com o serviço de Arquivo
{service.canonical}
chegou ao resolvedor {resolver} e espera a confirmação de quem o opera.
Outra mensagem dirá quando o Arquivo estiver cadastrado.
Se o pedido não é seu, responda a esta mensagem.

The request to register the archive with the archive service
{service.canonical}
has come to the resolver {resolver} and waits for its operator to confirm it.
Another message will tell you when the archive is registered.
If the request is not yours, answer this message.
""",
    )


def confirmation(service: Label, resolver: str) -> tuple[str, str]:
    """Return subject and text of the message to the administrator after the registration.

    Section 5.2: "o administrador do novo Arquivo receberá um e-mail de confirmação". The key is not
    in it, because others may read the mail.
    """
    return (
        f"Cadastrado / Registered: {service.canonical}",
        f"""\
O Arquivo com o serviço de Arquivo
{service.canonical}
está cadastrado no resolvedor {resolver}.
Ele será incluído no momento em que for ligado com a sua chave de cadastro.

The archive with the archive service
{service.canonical}
is registered at the resolver {resolver}.
It will be included as soon as it is switched on with its registration key.
""",
    )
