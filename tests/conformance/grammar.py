"""The standard's own grammars, run by an ABNF engine that knows nothing of our code.

Printed are "|" for "/" and, in 004, Portuguese names; errata are named where they are mended.
"""

from __future__ import annotations

from typing import Final

from abnf import ParseError, Rule

from tests.vectors import rows

# Table A.1 of 004: the rules idioma and pais.
LANGUAGES, COUNTRIES = (codes.split() for _, codes in rows("table_a_1"))

# Table 6.1 of 003. Errata: the port is mandatory and its separator optional as printed, against
# the table's own example (here: word [("." / "@") port]); "dia" is printed for "day".
TABLE_003_6_1: Final = """
repository = prefix "/" suffix
prefix     = subdomain "/" word [("." / "@") port]
subdomain  = *(word ".") last-word ["."]
word       = ALPHANUM / (ALPHANUM *(ALPHANUM / "-") ALPHANUM)
ALPHANUM   = ALPHA / DIGIT
last-word  = ALPHA / (ALPHA *(ALPHANUM / "-") ALPHANUM)
port       = 1*DIGIT
suffix     = year "/" month "." day "." hour "." minute ["." second]
year       = 4*DIGIT
month      = 2DIGIT
day        = 2DIGIT
hour       = 2DIGIT
minute     = 2DIGIT
second     = integer ["." fraction]
integer    = 2DIGIT
fraction   = 1*DIGIT
"""

# Table 7.1 of 003. Erratum: "ALFANUM" is printed for "ALPHANUM". Its names are prefixed here,
# because Table 6.1 gives other meanings to them.
TABLE_003_7_1: Final = """
IBIp        = p-word "/" p-word
p-word      = 1*p-alphanum
p-alphanum  = p-alpha / p-digit
p-alpha     = p-lowalpha / p-upalpha
p-lowalpha  = "a" / "b" / "c" / "d" / "e" / "f" / "g" / "h" / "j" / "k" / "l" / p-lowalpha2
p-lowalpha2 = "m" / "n" / "p" / "q" / "r" / "s" / "t" / "u" / "w" / "x"
p-upalpha   = "A" / "B" / "C" / "D" / "E" / "F" / "G" / "H" / "J" / "K" / "L" / p-upalpha2
p-upalpha2  = "M" / "N" / "P" / "Q" / "R" / "S" / "T" / "U" / "W" / "X"
p-digit     = "2" / "3" / "4" / "5" / "6" / "7" / "8" / "9"
"""

# Table 6.1 of 004. Errata: two pairs at the most are printed (here: any number); OCR has "1x"
# for "1*". path-absolute is of RFC 3986, idioma and pais are of Table A.1.
TABLE_004_6_1: Final = """
URL-persistente = "http://urlib.net/" IBI [mdf] [path-absolute] ["?" pergunta]
IBI       = repository / IBIp
mdf       = ([u [t]] / [t [u]]) [m [t]]
u         = "!"
t         = "+" ["(" idioma ["-" pais] ")"]
m         = ":" ["(" formato ")"]
formato   = "oai_dc"
pergunta  = [par *("&" par)]
par       = nome "=" valor
nome      = 1*caractere
valor     = *caractere
caractere = %x21-25 / %x27-3C / %x3E-7E
path-absolute = "/" [segment-nz *("/" segment)]
segment       = *pchar
segment-nz    = 1*pchar
pchar         = unreserved / pct-encoded / sub-delims / ":" / "@"
pct-encoded   = "%" HEXDIG HEXDIG
unreserved    = ALPHA / DIGIT / "-" / "." / "_" / "~"
sub-delims    = "!" / "$" / "&" / "'" / "(" / ")" / "*" / "+" / "," / ";" / "="
"""

# Table 6.4 of 004, which leaves languages and countries to two letters; Table A.1 is narrower.
TABLE_004_6_4: Final = """
lista-de-verbos = [verbo *("+" verbo)]
verbo  = ("GetTranslation" ["(" letters ["-" letters] ")"]) / verbo2
verbo2 = "GetLastEdition" / ("GetMetadata" ["(" formato ")"]) / "GetFileList"
letters = 2ALPHA
"""


# Its two ways of reading, apart, so that it can be told which one the grammar took.
TABLE_004_6_1_BY_FORM: Final = """
URL-repository = "http://urlib.net/" repository [mdf] [path-absolute] ["?" pergunta]
URL-IBIp       = "http://urlib.net/" IBIp [mdf] [path-absolute] ["?" pergunta]
"""


class Standard(Rule):
    """The rules of all tables."""


for _table in (
    TABLE_003_6_1,
    TABLE_003_7_1,
    TABLE_004_6_1,
    TABLE_004_6_1_BY_FORM,
    TABLE_004_6_4,
):
    for _line in _table.strip().splitlines():
        Standard.create(_line)
# One alternative a rule keeps the engine's rule parser quick: 249 in one line take it minutes.
for _name, _codes in (("idioma", LANGUAGES), ("pais", COUNTRIES)):
    _letters = sorted({code[0] for code in _codes})
    for _letter in _letters:
        _seconds = " / ".join(f'"{code[1]}"' for code in sorted(set(_codes)) if code[0] == _letter)
        Standard.create(f'{_name}-{_letter} = "{_letter}" ({_seconds})')
    Standard.create(f"{_name} = " + " / ".join(f"{_name}-{letter}" for letter in _letters))


def accepts(rule: str, text: str) -> bool:
    """Tell whether the standard's grammar takes the text under that rule."""
    try:
        Standard(rule).parse_all(text)
    except ParseError:
        return False
    return True
