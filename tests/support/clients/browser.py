"""A browser without script: it keeps cookies, and sends the forms of pages."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from http.cookies import SimpleCookie
from typing import Final
from urllib.parse import urlencode

from ibi.foundation.web.form_tokens import form_token
from tests.support.clients.http import Answer, Client

PASSWORD: Final = "correct horse battery staple"  # noqa: S105  # of tests
_FORM: Final = "application/x-www-form-urlencoded"
_INPUT: Final = re.compile(r"<input\b[^>]*>")
_ATTRIBUTE: Final = re.compile(r'\b(name|value|type)="([^"]*)"')


class Browser(Client):
    """A browser of one person at one site."""

    def __init__(self, address: str) -> None:
        """Have no cookies yet."""
        super().__init__(address, "")
        self.cookies: dict[str, str] = {}
        self.name = ""
        """The name of the account, once it is signed in by `ProgramServer.signed_in`."""

    @property
    def secret(self) -> str:
        """The secret in the session cookie."""
        [secret] = self.cookies.values()
        return secret

    @property
    def csrf(self) -> str:
        """A token for a form or for the header X-CSRF-Token, as pages of this session have it."""
        return form_token(self.secret)

    def get(self, path: str, **headers: str) -> Answer:
        """Open a page; redirects are not followed."""
        return self.send("GET", path, None, headers)

    def post(
        self,
        path: str,
        fields: Mapping[str, str] | Iterable[tuple[str, str]] = (),
        *,
        csrf: str | None = None,
        **headers: str,
    ) -> Answer:
        """Send a form, with a valid token unless another one is given."""
        pairs = list(fields.items()) if isinstance(fields, Mapping) else list(fields)
        token = self.csrf if csrf is None and self.cookies else csrf
        sent = urlencode([("csrf", token or ""), *pairs]).encode()
        named = {"Content-Type": _FORM, "Origin": self.address, **headers}
        return self.send("POST", path, sent, named)

    def submit(self, page: Answer, path: str, fields: Mapping[str, str], **more: str) -> Answer:
        """Send the form of a page: its hidden fields as they stand there, the others as given."""
        return self.post(path, {**hidden(page), **fields}, csrf=hidden(page)["csrf"], **more)

    def api(self, method: str, path: str, body: object = None, **headers: str) -> Answer:
        """Use the API as scripts of our own pages do."""
        named = {"X-CSRF-Token": self.csrf, "Origin": self.address, **headers}
        return self.send(method, f"/api/v1/{path}", body, named)

    def send(self, method: str, path: str, body: object, headers: Mapping[str, str]) -> Answer:
        """Send a request with the cookies, and keep those of the answer."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.cookies:
            pairs = (f"{name}={value}" for name, value in self.cookies.items())
            named["Cookie"] = "; ".join(pairs)
        answer = self.ask(method, path, body, token="", headers=named)
        found: SimpleCookie = SimpleCookie(answer.headers.get("set-cookie", ""))
        for name, morsel in found.items():
            if morsel["max-age"] == "0":
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = morsel.value
        return answer


def hidden(page: Answer, text: str = "<main") -> dict[str, str]:
    """Return the hidden fields of the first form of a page after a text."""
    whole = page.body.decode()
    part = whole[whole.index(text) :]
    found = {}
    for each in _INPUT.findall(part.partition("</form>")[0]):
        attributes = dict(_ATTRIBUTE.findall(each))
        if attributes.get("type") == "hidden":
            found[attributes["name"]] = html.unescape(attributes["value"])
    return found


def main_part(page: Answer) -> str:
    """Return the content of a page, without its frame."""
    return page.body.decode().partition("<main")[2].partition("</main>")[0]
