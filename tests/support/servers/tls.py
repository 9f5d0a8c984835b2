"""TLS of servers of tests, by a certificate that no authority of the machine vouches for."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Final

CERTIFICATE: Final = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgC1udTDGi2AEVfmmC
FZiW/6J+LuNCS9Ate8Se7J6tNyChRANCAAQR8UQhklrXMtH2xxDDF2fnXa4ZMWs/
sM830LXgC1sXpUC5wsZdQgAU4tOqijhmdoI8v1KKH8JksZq4O7BZjcYX
-----END PRIVATE KEY-----
-----BEGIN CERTIFICATE-----
MIIBqzCCAVGgAwIBAgIUFo0Zji5UMQCxbNL7sC5K7jCYli8wCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTExNTE5MjkzNFoYDzIxMjYxMDIy
MTkyOTM0WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAQR8UQhklrXMtH2xxDDF2fnXa4ZMWs/sM830LXgC1sXpUC5wsZdQgAU
4tOqijhmdoI8v1KKH8JksZq4O7BZjcYXo38wfTAdBgNVHQ4EFgQUIjocGZv5Qwdp
3xo4Lwjo1MvAAXswHwYDVR0jBBgwFoAUIjocGZv5Qwdp3xo4Lwjo1MvAAXswDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwDgYDVR0P
AQH/BAQDAgKEMAoGCCqGSM49BAMCA0gAMEUCIQCSDnyuK216HGJD9AQ7GRw1J04/
RgFu+Acyw1sMU6JqkwIgJFm02mMIkwbBCERBMPzto+cSGan3nmx/n8SylRu7q+g=
-----END CERTIFICATE-----
"""


def server_tls(folder: Path) -> ssl.SSLContext:
    """Return the context of a server at localhost or 127.0.0.1."""
    (folder / "certificate").write_text(CERTIFICATE)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "certificate")
    return context


def client_tls() -> ssl.SSLContext:
    """Return the context of a client that trusts the certificate."""
    return ssl.create_default_context(cadata=CERTIFICATE[CERTIFICATE.index("-----BEGIN C") :])
