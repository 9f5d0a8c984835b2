"""The operations of an archive's API."""

from __future__ import annotations

from typing import Final

from ibi.archive.fixity.audit_schedule import AuditRequest
from ibi.archive.ports.search import ORDERS as SEARCH_ORDERS
from ibi.archive.rules.amendment import Amendment
from ibi.archive.rules.calendar import PERIODS
from ibi.archive.rules.deposit_request import DepositRequest
from ibi.archive.rules.handover import HandOver
from ibi.archive.rules.scopes import ADMINISTER, CURATE, DEPOSIT, READ, RECEIVE
from ibi.archive.rules.search.query import LAST_PAGE
from ibi.archive.rules.transfer_messages import TransferReply
from ibi.archive.web import digest
from ibi.archive.web.api import (
    audits,
    citations,
    copies,
    history,
    holdings,
    items,
    messages,
    search,
    statistics,
    storage,
    tasks,
    transfers,
)
from ibi.archive.web.api.administration import AdministrationApi
from ibi.archive.web.api.audits import AuditsApi
from ibi.archive.web.api.citations import CitationsApi
from ibi.archive.web.api.collections import COLLECTION_OPERATIONS
from ibi.archive.web.api.copies import CopiesApi
from ibi.archive.web.api.deposits import DepositsApi
from ibi.archive.web.api.drafts import DRAFT_OPERATIONS
from ibi.archive.web.api.exports import ExportsApi
from ibi.archive.web.api.health import HEALTH_OPERATION
from ibi.archive.web.api.history import HistoryApi
from ibi.archive.web.api.holdings import HoldingsApi
from ibi.archive.web.api.imports import ImportsApi
from ibi.archive.web.api.items import ItemsApi
from ibi.archive.web.api.readings import READING_OPERATIONS
from ibi.archive.web.api.search import SearchApi
from ibi.archive.web.api.statistics import StatisticsApi
from ibi.archive.web.api.storage import StorageApi
from ibi.archive.web.api.tasks import TasksApi
from ibi.archive.web.api.transfers import TransfersApi
from ibi.archive.web.api.uploads import OFFSET, UPLOAD
from ibi.archive.web.citations import LOCALES, STYLES
from ibi.archive.web.digest import DigestEndpoint
from ibi.archive.web.harvest.changes import CHANGE_OPERATIONS
from ibi.archive.web.names.domain_registration import DOMAIN_OPERATIONS
from ibi.foundation.accounts.api import account_operations
from ibi.foundation.web.authorization import PUBLIC, OptionalScope
from ibi.foundation.web.figures_api import figures_operation
from ibi.foundation.web.openapi import LIMIT, PAGE, ApiDescription, parameter, query
from ibi.foundation.web.operations import Body, Further, Media, Operation
from ibi.foundation.web.status import status_operations
from ibi.foundation.web.tokens_api import token_operations
from ibi.metadata.formats import FORMATS
from ibi.model.item import State
from ibi.wire.digest import MAX_CURSOR, MEDIA_TYPE

DESCRIPTION: Final = ApiDescription(
    "IBI archive", "Keeps identified items: deposits, descriptions, editions, statistics."
)

_IBI: Final = parameter("ibi", "A label of the item, in any form; slashes may stand as they are")
_DEPOSIT: Final = parameter("id", "The id of a deposit")
_FILE: Final = parameter("path", "The path of a file, with slashes between folders")
_TASK: Final = parameter("id", "The id of a task")
_TRANSFER: Final = parameter("id", "The id of a transfer")
_COUNTED: Final = query(
    "count",
    "What to count: readers sent by resolvers, views of pages, or downloads of files",
    {"type": "string", "enum": list(statistics.COUNTED)},
)
_ITEM: Final = query("item", "Only of this item")
_DAYS: Final = (query("from", "The first day, as 2026-11-15"), query("to", "The last day"))
_CHOICE: Final = (
    _ITEM,
    query("act", "Only this act, as deposit"),
    query("who", "Only by this token"),
    *_DAYS,
)
_ITEM_CHOICE: Final = (
    query("kind", "Only of this kind", {"type": "string", "enum": list(items.KINDS)}),
    query("q", "Only items that the search finds by these words"),
    query("words", "Only items whose labels or descriptions contain these; with a token"),
    query("state", "Only in this state", {"type": "string", "enum": [*State]}),
)
_CITATION: Final = (
    query("style", "Only in this style", {"type": "string", "enum": list(STYLES)}),
    query(
        "locale",
        f"The language of its words: {', '.join(LOCALES.values())}; as Accept-Language if left out",
    ),
)
_ORDER: Final = query("order", "Which come first", {"type": "string", "enum": list(history.ORDERS)})
_BY: Final = query("by", "What to count by", {"type": "string", "enum": list(PERIODS)})
_FAULTY: Final = query(
    "faulty",
    "1 for those only that are not in order",
    {"type": "integer", "minimum": 0, "maximum": 1},
)
_AFTER: Final = query(
    "after", "Continue after this", {"type": "integer", "minimum": 0, "maximum": 2**62}
)
_SEARCH: Final = (
    query("q", 'Words, "phrases", beginnings such as cber*, and -words to leave out'),
    query("year", "Only of this year, or of these, as 2008-2013"),
    query("type", "Only of this type"),
    query("language", "Only in this language, as pt"),
    query("creator", "Only of this creator, as the answers write the name"),
    query("collection", "Only of this collection, by its label"),
    query("sort", "Which come first", {"type": "string", "enum": list(SEARCH_ORDERS)}),
    query("page", "Which page", {"type": "integer", "minimum": 1, "maximum": LAST_PAGE}),
)
_DIGEST_PAGE: Final = (
    query("epoch", "The epoch that the last page had"),
    query(
        "after",
        "The cursor that the last page had; 0 for the first",
        {"type": "integer", "minimum": 0, "maximum": MAX_CURSOR},
    ),
)
_UNDONE: Final = (query("label", "A label of the item"), query("receipt", "By which it was ready"))

_JSON_OR_XML: Final = Media({"application/json": {}, "text/xml": {}, "application/xml": {}})
_ANY_FORMAT: Final = Media(
    {"application/json": {}, **{each.media_type: {} for each in FORMATS.values()}}
)
_FILE_BODY: Final = Body(Media({"application/octet-stream": {}}), required=None)
_ADMINISTERED_FIELDS: Final = {"further_names": ADMINISTER}
"""Fields that need another scope: a further name affects more than one item."""
_ADMINISTERED_OF_DEPOSITS: Final = {**_ADMINISTERED_FIELDS, "adoption": ADMINISTER}
"""The same for a deposit: an adopted label was another archive's."""
_LARGEST_DESCRIPTION: Final = 2 << 20
"""Bytes of the largest description: a record of half a megabyte, however it is escaped."""
_LARGEST_LIST: Final = 1 << 20
"""Bytes of the largest list of labels to hand over or transfer."""
_LARGEST_COPY: Final = 4 << 20
"""Bytes of the largest list of labels to copy."""
_LARGEST_IMPORT: Final = 256 << 20
"""Bytes of the largest import: the manifest of more than half a million files."""

# Three lines for each operation, to be read as a table.
# fmt: off
_ITEMS: Final = (
    Operation("GET", "/api/v1/search", PUBLIC, SearchApi.find,
        "Search the items that are not deleted",
        answer=search.SearchAnswer, problems=(503,), parameters=_SEARCH),
    Operation("GET", "/api/v1/items", OptionalScope(READ), ItemsApi.list,
        "List items in the order in which they came, or the newest first; all, or by words",
        answer=messages.ItemsAnswer, problems=(400, 401, 429, 503),
        parameters=(*PAGE, *_ITEM_CHOICE, *_DAYS, _ORDER)),
    Operation("GET", "/api/v1/items/{ibi:path}/files", READ, ItemsApi.files,
        "The files of an item",
        answer=messages.FilesAnswer, problems=(404,), parameters=(_IBI, *PAGE)),
    Operation("GET", "/api/v1/items/{ibi:path}/metadata", READ, ItemsApi.metadata,
        "The metadata of an item, as JSON or in a format, in all languages or in one",
        answer=_ANY_FORMAT, problems=(404, 406),
        parameters=(
            _IBI,
            query("format", f"{', '.join(FORMATS)}; the archive's own JSON if left out"),
            query("language", "only the texts in it, as pt or pt-BR; all if left out"),
        )),
    Operation("GET", "/api/v1/items/{ibi:path}/citation", PUBLIC, CitationsApi.cite,
        "Cite an item, in one style or in all of them",
        answer=citations.CitationsAnswer, problems=(400, 404), parameters=(_IBI, *_CITATION)),
    Operation("PUT", "/api/v1/items/{ibi:path}/metadata", DEPOSIT, ItemsApi.describe,
        "Replace the metadata of an item, by JSON or oai_dc",
        request=Body(_JSON_OR_XML, largest=_LARGEST_DESCRIPTION), answer=messages.ItemAnswer,
        problems=(404, 409, 410, 413, 507), parameters=(_IBI,)),
    Operation("POST", "/api/v1/items/{ibi:path}/deletion", CURATE, ItemsApi.delete,
        "Delete an item; its tombstone stays",
        request=messages.DeletionRequest, answer=messages.ItemAnswer,
        problems=(404, 409, 410, 413, 507), parameters=(_IBI,)),
    Operation("GET", "/api/v1/items/{ibi:path}", READ, ItemsApi.show,
        "Show an item",
        answer=messages.ItemAnswer, problems=(404,), parameters=(_IBI,)),
    Operation("PATCH", "/api/v1/items/{ibi:path}", DEPOSIT, ItemsApi.amend,
        "Change the properties of an item and its relations to other items",
        request=Body(Amendment, largest=_LARGEST_DESCRIPTION, scopes=_ADMINISTERED_FIELDS),
        answer=messages.ItemAnswer, problems=(404, 409, 410, 413, 507), parameters=(_IBI,)),
)

_DEPOSITS: Final = (
    Operation("POST", "/api/v1/deposits", DEPOSIT, DepositsApi.open,
        "Begin a deposit",
        request=Body(
            DepositRequest, largest=_LARGEST_DESCRIPTION, scopes=_ADMINISTERED_OF_DEPOSITS),
        answer=messages.DepositAnswer, status=201, problems=(404, 409, 410, 413, 507)),
    Operation("GET", "/api/v1/deposits/{id}", DEPOSIT, DepositsApi.show,
        "Show a deposit and the files received so far",
        answer=messages.DepositAnswer, problems=(404,), parameters=(_DEPOSIT,)),
    Operation("DELETE", "/api/v1/deposits/{id}", DEPOSIT, DepositsApi.abandon,
        "Cancel a deposit",
        status=204, problems=(404, 409), parameters=(_DEPOSIT,)),
    Operation("PUT", "/api/v1/deposits/{id}/files/{path:path}", DEPOSIT, DepositsApi.receive,
        "Upload a file, or its beginning",
        request=_FILE_BODY, answer=messages.FileAnswer, status=201,
        further={200: Further("What was received so far", messages.StagedAnswer)},
        problems=(404, 409, 413, 422, 507), parameters=(_DEPOSIT, _FILE, *UPLOAD)),
    Operation("PATCH", "/api/v1/deposits/{id}/files/{path:path}", DEPOSIT, DepositsApi.receive,
        "Upload the rest of a file, from Upload-Offset on",
        request=_FILE_BODY, answer=messages.FileAnswer, status=201,
        further={200: Further("What was received so far", messages.StagedAnswer)},
        problems=(404, 409, 413, 422, 507), parameters=(_DEPOSIT, _FILE, *UPLOAD, OFFSET)),
    Operation("GET", "/api/v1/deposits/{id}/files/{path:path}", DEPOSIT, DepositsApi.show_file,
        "Show how much of a file was received",
        answer=messages.StagedAnswer, problems=(404, 409), parameters=(_DEPOSIT, _FILE)),
    Operation("DELETE", "/api/v1/deposits/{id}/files/{path:path}", DEPOSIT, DepositsApi.remove,
        "Remove a file from a deposit",
        status=204, problems=(404, 409), parameters=(_DEPOSIT, _FILE)),
    Operation("POST", "/api/v1/deposits/{id}/unpacking", DEPOSIT, DepositsApi.unpack,
        "Replace a zip or tar file of a deposit by the files in it",
        request=messages.UnpackRequest, answer=messages.UnpackAnswer,
        problems=(404, 409, 413, 507), parameters=(_DEPOSIT,)),
    Operation("POST", "/api/v1/deposits/{id}/completion", DEPOSIT, DepositsApi.complete,
        "Complete a deposit: create the item, or return the one created before",
        request=Body(messages.CompletionRequest, required=False), answer=messages.ItemAnswer,
        problems=(404, 409, 410, 413, 507), parameters=(_DEPOSIT,)),
)

_ADMINISTRATION: Final = (
    Operation("GET", "/api/v1/archive", PUBLIC, AdministrationApi.about,
        "Describe the archive",
        answer=messages.ArchiveAnswer),
    Operation("GET", "/api/v1/reservations", READ, AdministrationApi.reservations,
        "List reserved labels that have no item yet",
        answer=messages.ReservationsAnswer, parameters=PAGE),
    Operation("POST", "/api/v1/reservations", DEPOSIT, AdministrationApi.reserve,
        "Reserve labels",
        request=Body(messages.ReservationRequest, required=False),
        answer=messages.ReservationsAnswer, status=201, problems=(413, 507)),
    Operation("GET", "/api/v1/resolvers", READ, AdministrationApi.resolvers,
        "List the resolvers and the state of each link",
        answer=messages.LinksAnswer),
    Operation("POST", "/api/v1/resolvers", ADMINISTER, AdministrationApi.link,
        "Link the archive to a resolver",
        request=messages.LinkRequestBody, answer=messages.LinkAnswer, status=201,
        problems=(413, 507)),
    Operation("DELETE", "/api/v1/resolvers/{resolver:path}", ADMINISTER, AdministrationApi.unlink,
        "Unlink the archive from a resolver",
        status=204, problems=(404, 507),
        parameters=(parameter("resolver", "The address of a resolver"),)),
    Operation("GET", "/api/v1/history", READ, HistoryApi.history,
        "List the changes of items, and by which token",
        answer=history.HistoryAnswer, problems=(404,),
        parameters=(*PAGE, _ORDER, *_CHOICE)),
    Operation("GET", "/api/v1/history/acts", READ, HistoryApi.acts,
        "Count the changes by act",
        answer=history.ActsAnswer, problems=(404,), parameters=_CHOICE),
    Operation("GET", "/api/v1/statistics", READ, StatisticsApi.statistics,
        "Count the accesses to items, their views or downloads, over time",
        answer=statistics.StatisticsAnswer, problems=(404,),
        parameters=(*PAGE, _BY, *_DAYS, _ITEM, _COUNTED)),
    Operation("GET", "/api/v1/statistics/items", READ, StatisticsApi.most_read,
        "List the items with the most accesses",
        answer=statistics.MostRead, parameters=(*PAGE, *_DAYS)),
    Operation("GET", "/api/v1/statistics/holdings", READ, StatisticsApi.holdings,
        "Count what the archive holds",
        answer=statistics.HoldingsStatistics),
    HEALTH_OPERATION, figures_operation(READ), *token_operations(ADMINISTER),
    *account_operations(ADMINISTER),
)

_BAGS: Final = (
    Operation("GET", "/api/v1/manifests", READ, ExportsApi.manifests,
        "Manifests of items of data, as a bag contains them",
        answer=messages.ManifestsAnswer, problems=(404, 410), parameters=(*PAGE, _ITEM)),
    Operation("POST", "/api/v1/hand-overs", ADMINISTER, ExportsApi.hand_over,
        "Hand Originals over to another archive, for good; repeated, it returns the same document",
        request=Body(messages.HandOverRequest, largest=_LARGEST_LIST), answer=HandOver,
        problems=(404, 409, 410, 413, 507)),
    Operation("POST", "/api/v1/hand-overs/check", ADMINISTER, ExportsApi.check,
        "Check whether Originals can be handed over, without a change",
        request=Body(messages.HandOverRequest, largest=_LARGEST_LIST), status=204,
        problems=(404, 409, 410, 413)),
    Operation("POST", "/api/v1/imports", ADMINISTER, ImportsApi.open,
        "Begin an import: which items are accepted, and which files are needed",
        request=Body(messages.ImportRequest, largest=_LARGEST_IMPORT),
        answer=messages.ReceptionsAnswer, problems=(413, 507)),
    Operation("POST", "/api/v1/imports/completion", ADMINISTER, ImportsApi.complete,
        "Complete an import: create the items; small files may be in the request",
        request=Body(messages.ImportCompletionRequest, largest=_LARGEST_IMPORT),
        answer=messages.ReceptionsAnswer, problems=(404, 413, 507)),
    Operation("GET", "/api/v1/keys", ADMINISTER, ImportsApi.key,
        "Show the key with which another archive signs",
        answer=messages.KeyAnswer, problems=(404, 502),
        parameters=(query("address", "Where it answers"),)),
)

_UPKEEP: Final = (
    Operation("GET", "/api/v1/tasks", READ, TasksApi.list,
        "List tasks, the newest first",
        answer=tasks.TasksAnswer, parameters=(LIMIT, query("kind", "Only of this kind"))),
    Operation("GET", "/api/v1/tasks/{id}", READ, TasksApi.show,
        "Show the progress of a task",
        answer=tasks.TaskAnswer, problems=(404,), parameters=(_TASK,)),
    Operation("DELETE", "/api/v1/tasks/{id}", ADMINISTER, TasksApi.cancel,
        "Cancel a task; what it did so far stays",
        answer=tasks.TaskAnswer, status=202, problems=(404, 409, 507), parameters=(_TASK,)),
    Operation("GET", "/api/v1/storage", ADMINISTER, StorageApi.show,
        "Show where the files are stored",
        answer=storage.StorageAnswer),
    Operation("POST", "/api/v1/storage", ADMINISTER, StorageApi.move,
        "Move all files to another store, while the archive serves",
        request=storage.StorageRequest, answer=tasks.TaskAnswer, status=202,
        problems=(409, 413, 507)),
    Operation("POST", "/api/v1/audits", ADMINISTER, AuditsApi.begin,
        "Check the files of some or all items, and repair damaged ones if requested",
        request=Body(AuditRequest, required=False), answer=tasks.TaskAnswer, status=202,
        problems=(404, 409, 413, 507)),
    Operation("GET", "/api/v1/damage", READ, AuditsApi.damage,
        "List damaged files",
        answer=audits.DamagesAnswer, parameters=PAGE),
)

_COPIES: Final = (
    Operation("GET", "/api/v1/copies", READ, CopiesApi.list,
        "List Copies and the state of their Originals",
        answer=copies.CopiesAnswer,
        parameters=(*PAGE, _FAULTY)),
    Operation("POST", "/api/v1/copies", ADMINISTER, CopiesApi.copy,
        "Copy items of other archives, or update Copies",
        request=Body(copies.CopyRequest, largest=_LARGEST_COPY), answer=tasks.TaskAnswer,
        status=202, problems=(413, 507)),
    Operation("POST", "/api/v1/copies/reports", PUBLIC, CopiesApi.reported,
        "Receive the report of another archive that it has a Copy; verified before it is shown",
        request=copies.CopyReport, status=202, problems=(400, 413)),
    Operation("DELETE", "/api/v1/copies/{ibi:path}", ADMINISTER, CopiesApi.drop,
        "Remove a Copy",
        status=204, problems=(404, 409, 410, 507), parameters=(_IBI,)),
    Operation("GET", "/api/v1/holdings", PUBLIC, HoldingsApi.list,
        "List the Originals of the archive",
        answer=holdings.HoldingsAnswer, problems=(400,),
        parameters=(LIMIT, _AFTER)),
    Operation("GET", digest.PATH, PUBLIC, DigestEndpoint.page,
        "A page of the digest: labels that the archive holds, or no longer holds",
        answer=Media({MEDIA_TYPE: {"type": "string", "format": "binary"}}),
        further={304: Further("The same page as the client has")}, problems=(400, 404),
        parameters=_DIGEST_PAGE),
)

_TRANSFERS: Final = (
    Operation("GET", "/api/v1/transfers", READ, TransfersApi.list,
        "List transfers, to other archives and from them",
        answer=transfers.TransfersAnswer,
        parameters=(LIMIT, query("state", "open, done or undone"))),
    Operation("POST", "/api/v1/transfers", ADMINISTER, TransfersApi.begin,
        "Begin to transfer Originals to another archive",
        request=Body(transfers.TransferRequest, largest=_LARGEST_LIST),
        answer=transfers.TransfersAnswer, status=202, problems=(404, 409, 410, 413, 507)),
    Operation("GET", "/api/v1/transfers/{id}", READ, TransfersApi.show,
        "Show the progress of a transfer",
        answer=transfers.TransferAnswer, problems=(404,), parameters=(_TRANSFER,)),
    Operation("POST", "/api/v1/transfers/{id}", ADMINISTER, TransfersApi.resume,
        "Resume a transfer now, with a new token if one is needed",
        request=Body(transfers.ResumptionRequest, required=False),
        answer=transfers.TransferAnswer, status=202, problems=(404, 409, 410, 413, 507),
        parameters=(_TRANSFER,)),
    Operation("DELETE", "/api/v1/transfers/{id}", ADMINISTER, TransfersApi.undo,
        "Cancel a transfer",
        answer=transfers.TransferAnswer, status=202, problems=(404, 409, 507),
        parameters=(_TRANSFER,)),
    Operation("PUT", "/api/v1/incoming/{id}", RECEIVE, TransfersApi.offered,
        "Receive the offer of an item, or return its progress; called by another archive",
        request=transfers.OfferRequest, answer=TransferReply, problems=(404, 409, 410, 413, 507),
        parameters=(_TRANSFER,)),
    Operation("DELETE", "/api/v1/incoming/{id}", RECEIVE, TransfersApi.unwanted,
        "Cancel an incoming transfer; called by another archive",
        answer=TransferReply, problems=(409, 507), parameters=(_TRANSFER, *_UNDONE)),
    Operation("POST", "/api/v1/incoming/{id}/acceptance", RECEIVE, TransfersApi.committed,
        "Become the Original; called by another archive",
        request=transfers.AcceptanceRequest, answer=TransferReply,
        problems=(404, 409, 410, 413, 507), parameters=(_TRANSFER,)),
)
# fmt: on

OPERATIONS: Final = (
    *_ITEMS,
    *COLLECTION_OPERATIONS,
    *DOMAIN_OPERATIONS,
    *READING_OPERATIONS,
    *_DEPOSITS,
    *DRAFT_OPERATIONS,
    *_ADMINISTRATION,
    *_BAGS,
    *_UPKEEP,
    *_COPIES,
    *CHANGE_OPERATIONS,
    *_TRANSFERS,
    *status_operations("Whether the archive can be read"),
)
"""All operations; if two paths match a request, the first one gets it."""
