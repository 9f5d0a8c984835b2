"""MTD-BR, the Brazilian standard of metadata for theses, which IBICT's BDTD harvests.

Only theses for the degrees of a master and a doctor can be described. Elements and their order are
those that IBICT's own publishing system (TEDE) writes in version 1.1 of the format; LA Referencia
reads the same. A record knows no examiners, no tax numbers and no place of the defence.
"""

from __future__ import annotations

from typing import Final

from lxml import etree

from ibi.identifier.persistent_url import PersistentUrl
from ibi.metadata.cited_work import WorkKind, kind_of
from ibi.metadata.crosswalks.item_facts import (
    NO_FACTS,
    ItemFacts,
    day_of_label,
    first_date,
)
from ibi.metadata.xml_writing import add, document, root_of
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import Agent, MetadataRecord, Text

NAMESPACE: Final = "http://www.ibict.br/schema/"
SCHEMA: Final = "http://www.ibict.br/schema/mtd-br(v1.1).xsd"

_DEGREES: Final = {
    WorkKind.DOCTORAL_THESIS: ("Doutor", "Doutorado"),
    WorkKind.MASTER_THESIS: ("Mestre", "Mestrado"),
}
"""Words of the format: the degree, and the course."""
_ELECTRONIC: Final = "Tese ou Dissertação Eletrônica"
_KEYWORD: Final = "Palavra-chave"
_SUPERVISOR: Final = "Orientador"


def describes(record: MetadataRecord) -> bool:
    """Return whether the format is one for the item: a thesis of a master or doctor."""
    return kind_of(record.types) in _DEGREES


def write(record: MetadataRecord, forms: Forms, base: str, facts: ItemFacts = NO_FACTS) -> bytes:
    """Return the record of the item with these labels; `base` begins persistent URLs."""
    return document(element(record, forms, base, facts))


def element(
    record: MetadataRecord, forms: Forms, base: str, facts: ItemFacts = NO_FACTS
) -> etree._Element:
    """Return the same as an element."""
    school = str(record.publishers[0]) if record.publishers else ""
    root = root_of(_name("mtdbr"), {"mtd-br": NAMESPACE}, SCHEMA)
    _management(root, forms, base, facts, school)
    _thesis(root, record)
    for author in record.named_creators:
        _person(root, "Autor", author)
    for each in record.contributors:
        if each.role == "Supervisor":
            _person(root, "Contribuidor", each).set("Papel", _SUPERVISOR)
    if school:
        programme = add(root, _name("Programa"))
        _filled(add(programme, _name("Instituicao")), "Nome", school)
    for funder in dict.fromkeys(each.funder for each in record.funding):
        _filled(add(root, _name("AgenciaFomento")), "Nome", funder)
    for text in record.rights:
        _tagged(root, "Direitos", text, record)
    _filled(root, "Direitos", record.licence)
    return root


def _management(
    root: etree._Element, forms: Forms, base: str, facts: ItemFacts, school: str
) -> None:
    """Append which archive has the thesis, and where it is there."""
    archive = facts.archive or school
    control = add(root, _name("Controle"))
    _filled(control, "Sigla", archive)
    updated = facts.updated.iso8601 if facts.updated else f"{day_of_label(forms)}T00:00:00Z"
    _filled(control, "DataAtualizacao", updated)
    _filled(control, "IdentificacaoDocumento", forms.short.spelling)
    _filled(control, "Tipo", _ELECTRONIC)
    library = add(root, _name("BibliotecaDigital"))
    _filled(library, "Nome", archive)
    _filled(library, "URL", facts.address or base)
    _filled(library, "URLDocumento", PersistentUrl(forms.short).at(base))


def _thesis(root: etree._Element, record: MetadataRecord) -> None:
    """Append the texts, the degree and the date."""
    degree, course = _DEGREES.get(kind_of(record.types), ("", ""))
    for title in record.titles:
        _tagged(root, "Titulo", title, record)
    for tag in record.languages[:1]:
        _filled(root, "Idioma", _primary(tag))
    _filled(root, "Grau", degree)
    _filled(root, "Titulacao", course)
    for name, texts in (("Resumo", record.descriptions), ("Cobertura", record.coverages)):
        for text in texts:
            _tagged(root, name, text, record)
    for text in record.subjects:
        _tagged(root, "Assunto", text, record).set("Esquema", _KEYWORD)
    moment = first_date(record)
    _filled(root, "DataDefesa", moment.day_text if moment else "")


def _person(root: etree._Element, name: str, agent: Agent) -> etree._Element:
    """Append a person: the name as it is spoken, and as catalogues write it."""
    person = add(root, _name(name))
    spoken = f"{agent.given} {agent.family}".strip() if agent.family else agent.name
    _filled(person, "Nome", spoken)
    _filled(person, "Citacao", str(agent))
    if agent.affiliation:
        _filled(add(person, _name("Afiliacao")), "Nome", agent.affiliation)
    return person


def _tagged(root: etree._Element, name: str, text: Text, record: MetadataRecord) -> etree._Element:
    """Append a text with its language, or else that of the item."""
    tag = text.language or next(iter(record.languages), "")
    return add(root, _name(name), text.value, attributes={"Idioma": _primary(tag)})


def _primary(tag: str) -> str:
    return tag.partition("-")[0].lower()


def _filled(parent: etree._Element, name: str, text: str) -> None:
    if text:
        add(parent, _name(name), text)


def _name(local: str) -> str:
    return f"{{{NAMESPACE}}}{local}"
