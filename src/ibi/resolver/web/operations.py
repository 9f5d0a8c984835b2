"""The operations of a resolver's API."""

from __future__ import annotations

from typing import Final

from ibi.foundation.accounts.api import account_operations
from ibi.foundation.web.authorization import PUBLIC, OptionalScope
from ibi.foundation.web.figures_api import figures_operation
from ibi.foundation.web.openapi import PAGE, ApiDescription, parameter, query
from ibi.foundation.web.operations import Body, Further, Media, Operation
from ibi.foundation.web.status import status_operations
from ibi.foundation.web.tokens_api import token_operations
from ibi.resolver.rules.scopes import OPERATE, READ
from ibi.resolver.web import messages
from ibi.resolver.web.authorization import OPEN_REGISTRATION
from ibi.resolver.web.changes_api import ChangesApi
from ibi.resolver.web.explanation import Explanation
from ibi.resolver.web.handles.endpoint import HandlesApi
from ibi.resolver.web.handles.record import HandleRecord
from ibi.resolver.web.public_routes import Resolved, ResolverPublicRoutes
from ibi.resolver.web.registrations_api import RegistrationsApi
from ibi.resolver.web.registry_api import RegistryApi
from ibi.resolver.web.search_page import SearchPage, WordSearchAnswer

DESCRIPTION: Final = ApiDescription(
    "IBI resolver",
    "Leads from persistent URLs to where the items are, and keeps the archives on record.",
)

_SERVICE: Final = parameter(
    "service", "The label of an archive service; its slashes may stand as they are"
)
_CONFLICT: Final = parameter("conflict", "Its number, or the label of the item")
_QUESTION: Final = (
    query("url", "A label, or a persistent URL", required=True),
    query("language", "The language that is preferred: pt, or pt-BR"),
)
_WORDS: Final = (query("q", "Words, as the archives search for them", required=True),)
_ALL: Final = query("all", "Include the settled ones", {"type": "boolean"})
_HANDLE: Final = (
    parameter("ibi", "A label; its slashes may stand as they are"),
    query("type", "Only values of this type: URL, 10320/loc or IBI; may be repeated"),
    query("index", "Only the value at this index; may be repeated"),
    query("auth", "If it is true: only the Original will do", {"type": "boolean"}),
)
_HANDLE_CODES: Final = {
    status: Further(text, HandleRecord)
    for status, text in (
        (400, "Code 4 or 102: a wrong parameter, or no label"),
        (404, "Code 100 or 200: in no archive, or without an address"),
        (409, "Code 2: several archives claim the Original"),
        (410, "Code 200: deleted; the message has the address of the tombstone"),
        (414, "Code 102: too long"),
        (429, "Code 3: too many searches"),
        (508, "Code 6: the labels lead in a circle"),
    )
}
_MAIL: Final = Body(
    # Any media type is accepted for the message.
    Media({"message/rfc822": {}, "application/octet-stream": {}}),
    largest=2 << 20,
)
"""The limit of the request; the parser of the message has a smaller one, with its own error."""

# Three lines an operation, to be read as a table.
# fmt: off
OPERATIONS: Final = (
    Operation("GET", "/api/v1/resolve", PUBLIC, ResolverPublicRoutes.api_resolve,
        "Where a persistent URL leads; no access is counted",
        answer=Resolved, problems=(400, 404, 406, 409, 410, 429, 508), parameters=_QUESTION),
    Operation("GET", "/api/v1/explain", PUBLIC, ResolverPublicRoutes.api_explain,
        "Explain a resolution: the archives asked, their answers, the hops and the choice",
        answer=Explanation, problems=(400, 429), parameters=_QUESTION),
    Operation("GET", "/api/handles/{ibi:path}", PUBLIC, HandlesApi.record,
        "The record of a label, for clients of the Handle System (pyhandle, for one)",
        answer=HandleRecord, further=_HANDLE_CODES, parameters=_HANDLE),
    Operation("GET", "/api/v1/search", PUBLIC, SearchPage.api_search,
        "Search the archives by words; what each of them found",
        answer=WordSearchAnswer, problems=(400, 429, 503), parameters=_WORDS),
    Operation("GET", "/api/v1/resolver", PUBLIC, RegistryApi.about,
        "Describe the resolver",
        answer=messages.ResolverAnswer),
    Operation("GET", "/api/v1/archives", OptionalScope(READ), RegistryApi.archives,
        "List the registered archives; with a token, in more detail",
        answer=messages.ArchivesAnswer, problems=(401, 429)),
    Operation("POST", "/api/v1/archives", OPERATE, RegistryApi.register,
        "Register an archive, and show its key once",
        request=messages.RegistrationRequest, answer=messages.KeyAnswer, status=201,
        problems=(413, 507)),
    Operation("POST", "/api/v1/archives/{service:path}/confirm", OPERATE, RegistryApi.confirm,
        "Confirm a pending registration",
        answer=messages.NoticeAnswer, problems=(404, 507), parameters=(_SERVICE,)),
    Operation("POST", "/api/v1/archives/{service:path}/rotate", OPERATE, RegistryApi.rotate,
        "Issue another key, and show it once",
        answer=messages.KeyAnswer, problems=(404, 507), parameters=(_SERVICE,)),
    Operation("POST", "/api/v1/archives/{service:path}/revoke", OPERATE, RegistryApi.revoke,
        "Revoke the key of an archive",
        answer=messages.ArchiveAnswer, problems=(404, 507), parameters=(_SERVICE,)),
    Operation("POST", "/api/v1/archives/{service:path}/exclude", OPERATE, RegistryApi.exclude,
        "Exclude an archive, until it announces itself again",
        answer=messages.ArchiveAnswer, problems=(404, 507), parameters=(_SERVICE,)),
    Operation("POST", "/api/v1/archives/{service:path}/changes", PUBLIC, ChangesApi.changed,
        "Read the digest of an archive again: archives send this when it has changed",
        status=204, problems=(400, 404, 429), parameters=(_SERVICE,)),
    Operation("PUT", "/api/v1/archives/{service:path}/hosts", OPERATE, RegistryApi.allow_hosts,
        "Set the further hosts that its URLs may be on",
        request=messages.HostsRequest, answer=messages.ArchiveAnswer, problems=(404, 413, 507),
        parameters=(_SERVICE,)),
    Operation("DELETE", "/api/v1/archives/{service:path}", OPERATE, RegistryApi.remove,
        "Remove an archive",
        status=204, problems=(404, 507), parameters=(_SERVICE,)),
    Operation("POST", "/api/v1/registrations", OPEN_REGISTRATION, RegistrationsApi.begin,
        "Begin the registration of an archive, by proof of control of its host",
        request=messages.OpenRegistrationRequest, answer=messages.ChallengeAnswer, status=202,
        problems=(400, 403, 413, 429, 507)),
    Operation("POST", "/api/v1/registrations/mail", OPERATE, RegistrationsApi.take_mail,
        "Submit an e-mail that registers an archive, pending until it is confirmed",
        request=_MAIL, answer=messages.NoticeAnswer, status=202, problems=(413, 507)),
    Operation("POST", "/api/v1/registrations/proof", OPEN_REGISTRATION, RegistrationsApi.complete,
        "Check the proof and register the archive; the key is shown once",
        request=messages.ProofRequest, answer=messages.KeyAnswer, status=201,
        problems=(400, 403, 404, 413, 422, 429, 507)),
    Operation("GET", "/api/v1/conflicts", READ, RegistryApi.conflicts,
        "List rival claims to one Original",
        answer=messages.ConflictsAnswer, parameters=(*PAGE, _ALL)),
    Operation("POST", "/api/v1/conflicts/{conflict:path}/settlement", OPERATE, RegistryApi.settle,
        "Settle a conflict: name the archive of the Original",
        request=messages.SettlementRequest, answer=messages.ConflictAnswer,
        problems=(404, 413, 507), parameters=(_CONFLICT,)),
    Operation("GET", "/api/v1/history", READ, RegistryApi.history,
        "List the changes of the registry, the oldest first",
        answer=messages.HistoryAnswer, parameters=PAGE),
    figures_operation(READ),
    *token_operations(OPERATE),
    *account_operations(OPERATE),
    *status_operations("Whether the resolver can resolve"),
)
# fmt: on
"""The operations. Of two paths that match a request the first one is used: a label has slashes."""
