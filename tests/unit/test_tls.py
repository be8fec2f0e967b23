"""TLS: real handshakes with real certificates, files that are wrong, and fetching over https."""

from __future__ import annotations

import datetime
import http.server
import logging
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from pregon.errors import SettingsInvalid
from pregon.security import fetching
from pregon.security.fetching import fetch_safely, is_safe_url
from pregon.security.tls import TlsOptions, check_tls, make_ssl_context

DAY = datetime.timedelta(days=1)
SOON_S = 10.0


class Authority:
    """Signs certificates; its own is `file`."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.file = str(folder / f"{name}.pem")
        Path(self.file).write_bytes(self._sign(name, self._key, DAY, is_authority=True))

    def issue(self, name: str, valid: datetime.timedelta = DAY) -> TlsOptions:
        """A certificate for `localhost`, and its key, in files."""
        key = ec.generate_private_key(ec.SECP256R1())
        files = TlsOptions(certificate=str(self._folder / f"{name}.crt"), key=str(self._folder / f"{name}.key"))
        Path(files.certificate).write_bytes(self._sign(name, key, valid))
        Path(files.key).write_bytes(pem(key))
        return files

    def _sign(
        self, name: str, key: ec.EllipticCurvePrivateKey, valid: datetime.timedelta, is_authority: bool = False
    ) -> bytes:
        now = datetime.datetime.now(datetime.UTC)
        usage = x509.KeyUsage(not is_authority, *[False] * 4, is_authority, is_authority, False, False)
        identity = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)]))
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - 10 * DAY)
            .not_valid_after(now + valid)
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(identity, critical=False)
            .add_extension(issuer, critical=False)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        )
        return builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def pem(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey, passphrase: bytes = b"") -> bytes:
    """A private key as files have it."""
    lock = serialization.BestAvailableEncryption(passphrase) if passphrase else serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, lock)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path, "authority")


def client_context(authority: Authority, own: TlsOptions | None = None) -> ssl.SSLContext:
    """A client that trusts the authority, and perhaps has a certificate of its own."""
    context = ssl.create_default_context(cafile=authority.file)
    if own is not None:
        context.load_cert_chain(own.certificate, own.key)
    return context


def shake_hands(server: ssl.SSLContext, client: ssl.SSLContext) -> str:
    """The version that both sides speak, after a word each way; raises the server's SSLError if they do not."""
    ours, theirs = socket.socketpair()
    ours.settimeout(SOON_S)
    theirs.settimeout(SOON_S)

    def serve() -> str:
        with ours, server.wrap_socket(ours, server_side=True) as wrapped:
            wrapped.sendall(wrapped.recv(4))
            return wrapped.version() or ""

    with ThreadPoolExecutor(1) as pool, theirs:
        served = pool.submit(serve)
        try:
            with client.wrap_socket(theirs, server_hostname="localhost") as wrapped:
                wrapped.sendall(b"ping")
                assert wrapped.recv(4) in (b"ping", b"")
        except OSError:
            # The server's reason is the one that counts; without one, the client's does.
            served.result()
            raise
        return served.result()


def test_a_client_that_trusts_the_authority_gets_in(authority: Authority) -> None:
    options = authority.issue("hub")
    check_tls(options)

    version = shake_hands(make_ssl_context(options), client_context(authority))

    assert version == "TLSv1.3"


def test_tls_1_2_is_spoken_and_nothing_older(authority: Authority) -> None:
    server, old, older = make_ssl_context(authority.issue("hub")), client_context(authority), client_context(authority)
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    older.set_ciphers("DEFAULT:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning):
        older.minimum_version = ssl.TLSVersion.TLSv1
        older.maximum_version = ssl.TLSVersion.TLSv1_1

    version = shake_hands(server, old)

    assert version == "TLSv1.2"
    with pytest.raises(ssl.SSLError, match=r"(?i)unsupported.protocol"):
        shake_hands(server, older)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_mutual_tls_lets_in_only_who_has_a_certificate_of_the_authority(
    authority: Authority, tmp_path: Path, version: ssl.TLSVersion
) -> None:
    hub = authority.issue("hub")
    options = TlsOptions(certificate=hub.certificate, key=hub.key, client_ca=authority.file)
    known = client_context(authority, authority.issue("client"))
    stranger = client_context(authority, Authority(tmp_path, "other").issue("stranger"))
    nobody = client_context(authority)
    for client in (known, stranger, nobody):
        client.maximum_version = version
    check_tls(options)
    server = make_ssl_context(options)

    spoken = shake_hands(server, known)

    assert spoken == {ssl.TLSVersion.TLSv1_2: "TLSv1.2", ssl.TLSVersion.TLSv1_3: "TLSv1.3"}[version]
    with pytest.raises(ssl.SSLError, match="PEER_DID_NOT_RETURN_A_CERTIFICATE"):
        shake_hands(server, nobody)
    with pytest.raises(ssl.SSLError, match="CERTIFICATE_VERIFY_FAILED"):
        shake_hands(server, stranger)


@pytest.mark.parametrize("which", ["certificate", "key", "client_ca"])
@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "No such file"),
        (b"", "PEM"),
        (b"rubbish\xff", "PEM"),
        (b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "PEM"),
        (b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "PEM"),
        (b" " * (1024 * 1024 + 1), "more than"),
    ],
)
def test_a_wrong_file_is_named_and_what_is_wrong_with_it(
    authority: Authority, tmp_path: Path, which: str, content: bytes | None, told: str
) -> None:
    hub, wrong = authority.issue("hub"), tmp_path / "wrong.pem"
    if content is not None:
        wrong.write_bytes(content)
    files = {"certificate": hub.certificate, "key": hub.key, "client_ca": authority.file, which: str(wrong)}

    with pytest.raises(SettingsInvalid, match=told) as caught:
        check_tls(TlsOptions(**files))

    assert str(wrong) in str(caught.value)
    with pytest.raises(SettingsInvalid):
        make_ssl_context(TlsOptions(**files))


def test_a_directory_is_no_file(authority: Authority, tmp_path: Path) -> None:
    options = TlsOptions(certificate=str(tmp_path), key=authority.issue("hub").key)

    with pytest.raises(SettingsInvalid, match="directory"):
        check_tls(options)


@pytest.mark.parametrize("kind", ["same", "other"])
def test_a_key_of_another_certificate_is_refused(authority: Authority, tmp_path: Path, kind: str) -> None:
    key = tmp_path / "other.key"
    key.write_bytes(pem(ec.generate_private_key(ec.SECP256R1()) if kind == "same" else rsa_key()))
    options = TlsOptions(certificate=authority.issue("hub").certificate, key=str(key))

    with pytest.raises(SettingsInvalid, match="is not the key of") as caught:
        check_tls(options)

    assert options.key in str(caught.value)
    assert options.certificate in str(caught.value)
    with pytest.raises(SettingsInvalid):
        make_ssl_context(options)


def rsa_key() -> rsa.RSAPrivateKey:
    """A key of another type than those of the certificates here."""
    return rsa.generate_private_key(65_537, 2_048)


def test_an_encrypted_key_is_refused_without_asking_the_terminal(authority: Authority) -> None:
    options = authority.issue("hub")
    key = serialization.load_pem_private_key(Path(options.key).read_bytes(), None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    Path(options.key).write_bytes(pem(key, b"secret"))

    with pytest.raises(SettingsInvalid, match="encrypted") as caught:
        check_tls(options)

    assert options.key in str(caught.value)
    with pytest.raises(SettingsInvalid):
        make_ssl_context(options)


@pytest.mark.parametrize(("valid", "warnings"), [(DAY, 0), (-DAY, 1)])
def test_an_expired_certificate_is_only_warned_of(
    authority: Authority, caplog: pytest.LogCaptureFixture, valid: datetime.timedelta, warnings: int
) -> None:
    options = authority.issue("hub", valid)

    check_tls(options)

    assert [vars(record)["file"] for record in caplog.records] == [options.certificate] * warnings
    assert all(record.levelno == logging.WARNING for record in caplog.records)


@contextmanager
def web_server(context: ssl.SSLContext | None = None, moved_to: str = "", drip_s: float = 0) -> Iterator[str]:
    """A server of one document on loopback, and its URL."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(302 if moved_to else 200)
            if moved_to:
                self.send_header("Location", moved_to)
            self.end_headers()
            for letter in b"content":
                self.wfile.write(bytes([letter]))
                time.sleep(drip_s)

        def log_message(self, *_: object) -> None:
            """Say nothing on the terminal."""

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"{'https' if context else 'http'}://localhost:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_https_is_fetched_only_from_who_is_trusted(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    context = make_ssl_context(authority.issue("hub"))

    with web_server(context) as url:
        with pytest.raises(OSError, match="CERTIFICATE_VERIFY_FAILED"):
            fetch_safely(url, 100)
        monkeypatch.setenv("SSL_CERT_FILE", authority.file)
        content = fetch_safely(url, 100)

    assert content == b"content"


def test_a_redirection_is_followed_only_to_https(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", authority.file)
    context = make_ssl_context(authority.issue("hub"))

    with web_server(context) as safe, web_server() as unsafe:
        with web_server(moved_to=safe) as url:
            content = fetch_safely(url, 100)
        with web_server(context, moved_to=unsafe) as url, pytest.raises(OSError, match="not to https"):
            fetch_safely(url, 100)

    assert content == b"content"


def test_what_is_too_large_or_too_slow_is_not_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "_FETCH_S_MAX", 0.2)

    with web_server() as url:
        content = fetch_safely(url, 7)
        with pytest.raises(OSError, match="more than 6 bytes"):
            fetch_safely(url, 6)
    with web_server(drip_s=0.1) as url, pytest.raises(OSError, match="did not come"):
        fetch_safely(url, 7)

    assert content == b"content"


def test_what_is_on_this_machine_is_not_asked_of_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)

    with web_server() as url:
        content = fetch_safely(url, 100)

    assert content == b"content"


def test_only_https_and_this_machine_are_safe() -> None:
    safe = [
        "https://id.example/x",
        "http://127.0.0.1/x",
        "http://localhost:1",
        "http://[::1]:80/",
        "HTTPS://id.example",
    ]
    unsafe = ["http://id.example", "http://127.0.0.1.id.example", "http://127.0.0.1@id.example", "ftp://127.0.0.1/x"]
    unsafe += ["file:///etc/hostname", "https://", "https://[::1", "/etc/hostname", ""]

    answers = [is_safe_url(url) for url in safe + unsafe]

    assert answers == [True] * len(safe) + [False] * len(unsafe)
    with pytest.raises(OSError, match="must be https"):
        fetch_safely("file:///etc/hostname", 100)
