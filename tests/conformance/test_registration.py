"""004, section 5.1: the e-mail by which an archive is registered."""

from __future__ import annotations

import io
from email.message import EmailMessage
from typing import Final

from ibi import parse
from ibi.foundation.system.mailbox import messages
from ibi.model.archive_record import RegistrationKey
from ibi.resolver.rules.registration_mail import MailedRegistration, read
from tests.conformance.standard import covers

# What optical recognition did to the print is mended: "servigo", and a stray bracket.
SUBJECT: Final = "Cadastro de um novo Arquivo"
PRINTED: Final = """\
IBI do serviço de Arquivo:
archiveserviceibi = dpi.inpe.br/banon/1999/01.09.22.14

Chave de cadastro:
registrationkey = 1234567890
"""
SENDER: Final = "banon@dpi.inpe.br"
MEANT: Final = MailedRegistration(
    parse("dpi.inpe.br/banon/1999/01.09.22.14"), RegistrationKey("1234567890"), SENDER
)


@covers("004", "Example 5.1")
def test_example_5_1() -> None:
    assert read(SUBJECT, SENDER, PRINTED) == MEANT


@covers("004", "Example 5.1")
def test_example_5_1_as_a_mail_server_hands_it_over() -> None:
    message = EmailMessage()
    message["From"], message["Subject"] = SENDER, SUBJECT
    message.set_content(PRINTED)
    [handed_over] = messages(io.BytesIO(message.as_bytes()))
    assert read(*handed_over) == MEANT
