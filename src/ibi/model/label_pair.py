"""The forms of an IBI: the labels of one item in the notation of the protocol (004, Table 7.4)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ibi.errors import LabelError
from ibi.identifier.ibip import Ibip
from ibi.identifier.label import Label, parse
from ibi.identifier.legacy import LegacyLabel
from ibi.identifier.repository_name import RepositoryName

_EXPECTED: Final = '"rep" and a repository name, "ibip" and an IBIp, or both in this order'


@dataclass(frozen=True, slots=True)
class Forms:
    """The labels of one item: a repository name, an IBIp, or both.

    A label from before 2009 takes the place of the IBIp, of which it is the predecessor: the
    standard has no third place.
    """

    rep: RepositoryName | None = None
    ibip: Ibip | LegacyLabel | None = None

    def __post_init__(self) -> None:
        if self.rep is None and self.ibip is None:
            raise LabelError("", part="the forms", position=0, expected=_EXPECTED)

    @classmethod
    def of(cls, *labels: Label | str | None) -> Forms:
        """Return the forms made of these labels; of two labels of one form the first counts."""
        rep: RepositoryName | None = None
        ibip: Ibip | LegacyLabel | None = None
        for given in labels:
            label = parse(given, strict=True) if isinstance(given, str) else given
            if isinstance(label, RepositoryName):
                rep = rep or label
            elif label is not None:
                ibip = ibip or label
        return cls(rep, ibip)

    # Table 7.4: Rules defining the formation of formas-de-ibi.
    #
    #   formas-de-ibi = forma-rep | forma-ibip | forma-rep " " forma-ibip
    #   forma-rep     = "rep " repositorio
    #   forma-ibip    = "ibip " IBIp
    @classmethod
    def parse(cls, text: str) -> Forms:
        """Parse the output of `str`; any number of blanks separates the words."""
        found: tuple[Label | None, Label | None]
        match text.split():
            case ["rep", rep, "ibip", ibip]:
                found = parse(rep, strict=True), parse(ibip, strict=True)
            case ["rep", rep]:
                found = parse(rep, strict=True), None
            case ["ibip", ibip]:
                found = None, parse(ibip, strict=True)
            case _:
                raise LabelError(text, part="the forms", position=0, expected=_EXPECTED, found=text)
        first, second = found
        if isinstance(second, RepositoryName) or not isinstance(first, RepositoryName | None):
            # A label stands where the other form belongs.
            raise LabelError(text, part="the forms", position=0, expected=_EXPECTED, found=text)
        return cls(first, second)

    @property
    def label(self) -> Label:
        """The label by which the item is stored: the repository name if it has one."""
        label = self.rep or self.ibip
        assert label is not None  # noqa: S101  # __post_init__ checked it
        return label

    @property
    def short(self) -> Label:
        """The shorter label: the IBIp if it has one."""
        return self.ibip or self.label

    def __iter__(self) -> Iterator[Label]:
        """Iterate over the labels that are present."""
        return iter(label for label in (self.rep, self.ibip) if label is not None)

    def names(self, other: Forms) -> bool:
        """Return whether both name the same item: they have a label in common."""
        return any(label in tuple(other) for label in self)

    def __str__(self) -> str:
        """Return the forms as the protocol writes them."""
        forms = []
        if self.rep is not None:
            forms.append(f"rep {self.rep.spelling}")
        if self.ibip is not None:
            forms.append(f"ibip {self.ibip.spelling}")
        return " ".join(forms)
