"""The standard's tables, figures, examples, algorithms and rules in prose, and the mark of a test.

003 is the report on generation (RTC-10-I), 004 the report on resolution; 000 and 001 are the
reports before them, quoted where they say more. Every item stands here, built or not;
`report.py` makes docs/conformance.md of it.
"""

from __future__ import annotations

from typing import Final

import pytest

ITEMS: Final = {
    "000": {
        "Examples 1 and 2, `??`": "metadata of an item, by two question marks after its label",
    },
    "001": {
        "Section 5, relative links": "a link from one item of an archive to another one",
    },
    "003": {
        "Example 1": "a label based on a domain name",
        "Example 2": "a label based on an IP address",
        "Chapter 6, four directories": "a label is the path of its item, also of a copy",
        "Table 6.1": "grammar of a repository name",
        "Table 6.2": "a temporal distributor at work",
        "Algorithm 1": "MountPrefixOfNameOfRepositoryOfAnItem",
        "Algorithm 2": "MountSuffixOfNameOfRepositoryOfAnItem",
        "Algorithm 3": "MountNameOfRepositoryOfAnItem",
        "Algorithm 4": "CreateDateToMountSuffixOfIbiOfAnItem",
        "Table 7.1": "grammar of an IBIp",
        "Algorithm 5": "MountPrefixOfIbipOfAnItem",
        "Algorithm 6": "MountSuffixOfIbipOfAnItem",
        "Algorithm 7": "MountIbipOfAnItem",
        "Table 7.2": "examples of ConvertToDecimal",
        "Table 7.3": "examples of ConvertFromDecimal",
        "Table 7.4": "decimal to IPv4",
        "Table 7.5": "decimal to IPv6",
        "Table 7.6": "decimal to IBIp",
    },
    "004": {
        "Section 3.2, one label": "copies keep the label of their Original",
        "Section 3.2, one state": "an archive has a label once, as Original or as Copy",
        "Definition 3.1": "one archive stores the Original, and there is always one",
        "Proposition 3.1": "from items to the archives of their Originals is a mapping",
        "Proposition 3.2": "every Copy has one Original",
        "Section 3.2, transfer": "Originals migrate, unless they are not transferable",
        "Table 4.1": "percent-encoding of special characters",
        "Example 4.1": "a request",
        "Table 4.2": "grammar of a pair list",
        "Example 4.2": "an answer",
        "Table 5.1": "grammar of a registration key",
        "Example 5.1": "e-mail that registers an archive",
        "Figure 5.1": "inclusion and exclusion, message by message",
        "Table 5.2": "pairs of an inclusion or exclusion request",
        "Example 5.2": "an inclusion request",
        "Example 5.3": "an exclusion request",
        "Example 5.4": "a confirmation request",
        "Example 6.1": "persistent URLs",
        "Table 6.1": "grammar of a persistent URL",
        "Table 6.2": "modifiers and their compositions",
        "Example 6.2": "persistent URLs of metadata",
        "Example 6.3": "persistent URLs of a translation",
        "Example 6.4": "persistent URLs with one or more modifiers",
        "Table 6.3": "pairs that the system reads",
        "Table 6.4": "grammar of a list of verbs",
        "Table 6.5": "verbs and their synonyms",
        "Example 6.5": "a persistent URL with a list of verbs",
        "Example 6.6": "a persistent URL of a list of files",
        "Example 6.7": "a persistent URL of one file",
        "Section 6.2, privacy": "archives learn neither language nor required status",
        "Section 6.2, all archives": "the request goes to the included archives",
        "Section 6.2, one Original": "the Original is required, and one archive claims it",
        "Section 6.2, two Originals": "the Original is required, two archives claim it: an alert",
        "Section 6.2, first answer": "otherwise an answer that serves the request is taken",
        "Section 6.2, new request": "an answer without URL leads to another label",
        "Section 6.2, acknowledgment": "the archive whose URL was taken is thanked",
        "Section 6.2, not found": "a page says that the item was not found",
        "Figure 6.1": "resolution, message by message",
        "Table 6.6": "what a resolver captures",
        "Example 6.8": "what a resolver captured",
        "Table 6.7": "what it captured of the user",
        "Table 6.8": "what it captured of the URL",
        "Table 6.9": "pairs of a URL request",
        "Table 6.10": "grammar of a list of IPs",
        "Table 6.11": "pairs of an acknowledgment",
        "Example 6.9": "an acknowledgment",
        "Algorithm 1": "MontarResposta",
        "Table 7.1": "components of Algorithm 1",
        "Example 7.1": "DecodQS",
        "Example 7.2": "MontarListaDeUrl",
        "Example 7.3": "FiltrarListaDeUrl",
        "Algorithm 2": "MontarListaDeUrl",
        "Table 7.2": "components of Algorithm 2",
        "Table 7.3": "the function <x, i>",
        "Table 7.4": "grammar of the forms of an IBI",
        "Example 7.4": "CriarPar for a state",
        "Table 7.5": "grammar of a relation",
        "Example 7.5": "some relations",
        "Example 7.6": "CriarPar for a last edition",
        "Example 7.7": "Juntar",
        "Example 7.8": "CriarParIbi",
        "Example 7.9": "CriarParUrl for an item",
        "Example 7.10": "CriarParUrl for metadata",
        "Example 7.11": "CriarParUrl for a file",
        "Example 7.12": "CriarParUrl for a list of files",
        "Section 8.1": "resolution without a modifier",
        "Section 8.2": "resolution with a modifier, over several archives",
        "Table A.1": "languages and countries",
    },
}


def covers(document: str, item: str) -> pytest.MarkDecorator:
    """Mark a test as covering an item of the standard."""
    if item not in ITEMS[document]:
        message = f"{document} has no {item}"
        raise ValueError(message)
    return pytest.mark.standard(document, item)
