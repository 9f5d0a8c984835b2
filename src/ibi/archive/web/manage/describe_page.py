"""The page on which the description of an item is corrected."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Final

from starlette.responses import Response

from ibi.archive.archive import Archive, ItemWithMetadata
from ibi.archive.drafts.description import RecordForm
from ibi.archive.rules.amendment import Amendment
from ibi.archive.rules.drafts.draft import Fields
from ibi.archive.web.api.uploads import path_after
from ibi.archive.web.drafts.import_page import filled
from ibi.archive.web.drafts.pages import MORE_FIELDS
from ibi.archive.web.drafts.views import FormView
from ibi.archive.web.manage.access import ItemAccess
from ibi.archive.web.manage.acts import ITEM_PATH
from ibi.archive.web.manage.views import DescribeView
from ibi.archive.web.page_response import here, page_response, preference
from ibi.archive.web.pages import Pages
from ibi.errors import DescriptionError, IbiError, Sentence, UnknownError
from ibi.foundation.accounts.site import see_other
from ibi.foundation.web.page_operations import PageRequest
from ibi.identifier.label import parse
from ibi.metadata.form import Place

DESCRIBE_PATH: Final = "/deposit/describe/"
_CHANGED: Final = Sentence("This description was changed since you opened it.")
_FAULTY: Final = Sentence("Nothing was changed: look at the fields that are marked.")


class DescribePage:
    """Handlers of the page."""

    def __init__(
        self, archive: Archive, access: ItemAccess, form: RecordForm, pages: Pages
    ) -> None:
        """Correct the descriptions of the items of an archive."""
        self._archive = archive
        self._access = access
        self._form = form
        self._pages = pages

    async def show_description(self, request: PageRequest) -> Response:
        """Answer with the form."""
        look = await self._look(request)
        return self._page(request, look, _fields_of(look))

    async def change_description(self, request: PageRequest) -> Response:
        """Correct the description; the form comes back with what was typed if that cannot be."""
        look = await self._look(request)
        typed = self._form.known(tuple(request.fields))
        act = request.fields.get("act")
        if act.startswith("more-"):
            more = MORE_FIELDS.get(act.removeprefix("more-"), ())
            return self._page(request, look, (*typed, *((name, "") for name in more)))
        if request.fields.get("version") != str(_version(look)):
            return self._page(
                request, look, typed, _CHANGED, saved=_fields_of(look), status=HTTPStatus.CONFLICT
            )
        try:
            await asyncio.to_thread(self._change, look, typed, request.visitor.actor)
        except DescriptionError as refused:
            faults = {Place(field, number): text for field, number, text in refused.faults}
            return self._page(
                request, look, typed, _FAULTY, faults=faults, status=HTTPStatus.BAD_REQUEST
            )
        except IbiError as refused:
            return self._page(request, look, typed, refused.message(), status=HTTPStatus.CONFLICT)
        return see_other(f"{ITEM_PATH}{look.item.forms.short.spelling}", request)

    def _change(self, look: ItemWithMetadata, typed: Fields, who: str) -> None:
        request = self._form.request(typed)
        amendment = Amendment(metadata=request.metadata)
        self._archive.amend(look.item.forms.label, amendment, who)

    async def _look(self, request: PageRequest) -> ItemWithMetadata:
        label = parse(path_after(request, DESCRIBE_PATH.encode()))
        look = await asyncio.to_thread(self._access.get, label, request.visitor)
        if look.record is None:
            raise UnknownError("metadata of", str(label))
        return look

    def _page(  # noqa: PLR0913  # what a form shows
        self,
        request: PageRequest,
        look: ItemWithMetadata,
        fields: Fields,
        fault: str = "",
        *,
        faults: dict[Place, str] | None = None,
        saved: Fields | None = None,
        status: int = HTTPStatus.OK,
    ) -> Response:
        found = self._form.reading(fields).faults if faults is None else faults
        view = DescribeView(
            look=look,
            form=FormView(fields=fields, faults=found, saved=saved),
            version=_version(look),
            fault_text=fault,
        )
        page = self._pages.page("describe_item.html", view, preference(request), here(request))
        return page_response(page, status)


def _fields_of(look: ItemWithMetadata) -> Fields:
    return () if look.record is None else filled((), look.record)


def _version(look: ItemWithMetadata) -> int:
    return 0 if look.metadata is None else look.metadata.version
