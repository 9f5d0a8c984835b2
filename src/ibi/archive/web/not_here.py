"""Errors of persistent URLs: the archive has the item, but not what was asked of it."""

from __future__ import annotations

from http import HTTPStatus

from starlette.exceptions import HTTPException

from ibi.errors import Sentence
from ibi.identifier.label import Label
from ibi.metadata.formats import FORMATS


def no_format(name: str) -> HTTPException:
    """Return the error of metadata in a format that is not offered."""
    return HTTPException(
        HTTPStatus.NOT_ACCEPTABLE,
        Sentence(
            "Metadata are not offered as %(name)s, only as %(known)s.",
            name=repr(name),
            known=", ".join(FORMATS),
        ),
    )


def held_elsewhere(label: Label | None) -> HTTPException:
    """Return the error of what is not here, with the label from which it may be found."""
    if label is None:
        detail = Sentence("The item is held here, but not what was asked for of it.")
    else:
        detail = Sentence(
            "The item is held here, but not what was asked for of it. It may be found from "
            "%(label)s on, by a resolver.",
            label=label.spelling,
        )
    return HTTPException(HTTPStatus.NOT_FOUND, detail)


def original_elsewhere() -> HTTPException:
    """Return the error of an Original that another archive has."""
    return HTTPException(
        HTTPStatus.NOT_FOUND, Sentence("The Original is not held in this archive.")
    )
