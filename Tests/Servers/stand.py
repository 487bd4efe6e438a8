#!/usr/bin/env python3
"""Starts servers for tests on free ports of 127.0.0.1, and ends them.

    stand.py NAME...        aiohttp-tus, apache, apache-http2, caddy, caddy-http2, haproxy, haproxy-http2, httpbin, microsocks, moto, oauth,
                            oidc, squid, tuspyserver

When all respond, it prints one line of JSON, such as

    {"haproxy": {"port": 40123, "dropsSilently": true}, "squid": {"missing": "squid is not on this machine (…)"}}

where a server that is on this machine and does not start has "failed" instead, with the reason. Then it waits for the end of
its standard input, or a signal, ends everything it started, and removes its folder. Whoever holds the other end of that pipe
need do nothing: the servers don't outlive it. Works as root and as a user. Python 3.9 or later, no packages.

The name is joe and the password pw, wherever one is asked for.
"""

import base64
import getpass
import hashlib
import json
import os
import pwd
import secrets
import select
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from pathlib import Path

HOST = "127.0.0.1"
ROOT = Path(__file__).resolve().parent.parent.parent
IS_ROOT = os.geteuid() == 0
# Servers live in sbin, which is not on every user's PATH.
PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin", "/sbin", "/opt/homebrew/bin"])
START_LIMIT_SECONDS = 20
STARTS = 4  # a port that was free may be taken a moment later


class Missing(Exception):
    """What a server needs is not on this machine."""


class End(Exception):
    """Nobody wants the servers any more."""


def program(*names, package):
    for name in names:
        found = shutil.which(name, path=PATH)
        if found:
            return found
    raise Missing(f"{names[0]} is not on this machine (apt-get install {package})")


def user(*names):
    """The first of these users that exists: who starts a server as root has workers that are not."""
    for name in names:
        try:
            return pwd.getpwnam(name)
        except KeyError:
            pass
    return pwd.getpwnam(getpass.getuser())


def listener():
    """A socket on a free port, for a server that can be handed one. Nobody else can take the port."""
    made = socket.socket()
    made.bind((HOST, 0))
    made.listen(128)
    return made


def free_ports(count):
    """Ports that are free now, for a server that binds them by itself."""
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind((HOST, 0))
        return [probe.getsockname()[1] for probe in probes]
    finally:
        for probe in probes:
            probe.close()


def identity(folder):
    """A certificate that is its own authority, and its key."""
    certificate, key = folder / "server.pem", folder / "server.key"
    openssl = program("openssl", package="openssl")
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", certificate],
        check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    key.chmod(0o644)
    return certificate, key


def ask(port, path, method="GET", host=HOST):
    """Everything that the server sends; empty if it does not."""
    try:
        with socket.create_connection((HOST, port), 1) as connection:
            connection.settimeout(2)
            connection.sendall(f"{method} {path} HTTP/1.0\r\nHost: {host}\r\n\r\n".encode())
            received = b""
            while len(received) < 65536:
                chunk = connection.recv(65536)
                if not chunk:
                    break
                received += chunk
            return received.decode(errors="replace")
    except OSError:
        return ""


class Server:
    """One server: its files, its process, and what its responses are known by."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.folder.mkdir(mode=0o755)
        self.folder.chmod(0o755)  # whoever drops root must be able to read it
        self.token = secrets.token_hex(8)
        self.process = None
        self.sockets = []

    # For each kind of server: prepares files and ports and calls `run`; whether it is up; what tests must know.

    def start(self):
        raise NotImplementedError

    def is_up(self):
        raise NotImplementedError

    def address(self):
        return {"port": self.port}

    def write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        path.chmod(0o644)
        os.utime(path, (1_000_000_000, 1_000_000_000))  # a file that is new has no strong validator
        return path

    def run(self, command, handed=()):
        with open(self.folder / "server.log", "wb") as log:
            self.process = subprocess.Popen(
                [str(word) for word in command],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[one.fileno() for one in handed],
                start_new_session=True,  # its own group, to be ended with all its children
            )

    def log(self):
        text = ""
        for path in sorted(self.folder.glob("*.log")):
            text += path.read_text(errors="replace")
        return text[-800:].strip()

    def signal(self, number):
        if self.process:
            try:
                os.killpg(self.process.pid, number)
            except (ProcessLookupError, PermissionError):  # macOS: no permission for a group of zombies
                pass

    def wait(self, seconds):
        if self.process:
            try:
                self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                pass

    def close(self):
        for one in self.sockets:
            one.close()
        self.sockets = []


class HTTPBin(Server):
    """httpbin, under gunicorn."""

    def start(self):
        python = self.python()
        self.sockets = [listener()]
        self.port = self.sockets[0].getsockname()[1]
        configuration = self.write("gunicorn.conf.py", f"""
bind = "fd://{self.sockets[0].fileno()}"
worker_class = "gthread"
threads = 32
keepalive = 60  # longer than any test leaves a connection unused
graceful_timeout = 1
control_socket_disable = True  # versions without it skip the line
""")
        # httpbin has Digest for GET alone, which has no body as a rule. A body that is not read costs the connection.
        self.write("stand_httpbin.py", """
from flask import request
from httpbin import app

@app.before_request
def read_whole():
    if request.path.startswith("/posted-digest/"):
        request.get_data()

app.add_url_rule("/posted-digest/<qop>/<user>/<passwd>/<algorithm>", "posted_digest", app.view_functions["digest_auth_nostale"],
    methods=["POST"])
""")
        self.run([python, "-m", "gunicorn", "--config", configuration, "stand_httpbin:app"], handed=self.sockets)

    @staticmethod
    def python():
        inside = ROOT / ".build/servers-venv/bin/python3"
        script = "from importlib.util import find_spec as find; raise SystemExit(not (find('httpbin') and find('gunicorn')))"
        for python in (inside, sys.executable):
            try:
                if subprocess.run([str(python), "-c", script], stderr=subprocess.DEVNULL, timeout=20).returncode == 0:
                    return python
            except OSError:
                pass
        raise Missing("httpbin or gunicorn is not on this machine (scripts/setup installs them from PyPI)")

    def is_up(self):
        return f'"{self.token}"' in ask(self.port, f"/get?token={self.token}")


class HAProxy(Server):
    """haproxy, misbehaving in a way for each path."""

    def start(self):
        haproxy = program("haproxy", package="haproxy")
        # Bound and not listening: the port is refused, and nobody else can take it.
        dead = socket.socket()
        dead.bind((HOST, 0))
        self.sockets = [listener(), dead]
        self.port = self.sockets[0].getsockname()[1]
        self.dropped = None
        configuration = self.write("haproxy.cfg", f"""
global
  maxconn 500
defaults
  mode http
  retries 0
  timeout client 30s
  timeout server 30s
  timeout connect 2s
  timeout tarpit 2s
frontend misbehaving
  bind fd@{self.sockets[0].fileno()}
  http-request return status 200 content-type text/plain string {self.token} if {{ path /token }}
  http-request silent-drop if {{ path /drop }}
  http-request tarpit deny_status 500 if {{ path /tarpit }}
  http-request reject if {{ path /reject }}
  http-request return status 429 content-type text/plain string slower hdr Retry-After 1 if {{ path /429 }}
  http-request return status 503 content-type text/plain string busy hdr Retry-After 1 if {{ path /503 }}
  http-request return status 503 content-type text/plain string busy hdr Retry-After 30 if {{ path /later }}
  http-request return status 503 content-type text/plain string busy hdr Retry-After 0 if {{ path /flaky }} {{ rand(100) lt 50 }}
  http-request return status 200 content-type text/plain string ok if {{ path /flaky }}
  http-request return status 404 unless {{ path /dead }}
  default_backend dead
backend dead
  server nobody {HOST}:{dead.getsockname()[1]}
""")
        self.run([haproxy, "-db", "-f", configuration], handed=self.sockets[:1])

    def is_up(self):
        if self.token not in ask(self.port, "/token"):
            return False
        self.dropped = socket.create_connection((HOST, self.port), 1)
        self.sockets.append(self.dropped)
        self.dropped.sendall(b"GET /drop HTTP/1.0\r\n\r\n")
        return True

    def address(self):
        # Dropping without a word takes a privilege; without it the kernel resets the connection, as the client is so near.
        told, _, _ = select.select([self.dropped], [], [], 0.2)
        return {"port": self.port, "dropsSilently": not told}


class Squid(Server):
    """squid, as a proxy for what is on the loopback interface: one port is open, one wants the password (by Digest or Basic), and one is
    open and speaks TLS, with a certificate that is its own authority."""

    def start(self):
        squid = program("squid", package="squid-openssl")
        self.port, self.locked, self.secure = free_ports(3)
        # The protocol of its helpers: a line with name and password in, a line out.
        helper = self.write("password.sh", """
while read -r name password; do
    if [ "$name $password" = "joe pw" ]; then echo OK; else echo ERR; fi
done
""")
        ha1 = hashlib.md5(b"joe:squid:pw").hexdigest()
        digest = self.write("digest.sh", f"""
while read -r line; do
    case "$line" in '"joe":"squid"'*) echo 'OK ha1="{ha1}"';; *) echo ERR;; esac
done
""")
        certificate, key = self.folder / "squid.pem", self.folder / "squid.key"
        openssl = program("openssl", package="openssl")
        subprocess.run(
            [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=localhost",
             "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", certificate],
            check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        owner = user("proxy", "squid", "_squid", "nobody")
        configuration = self.write("squid.conf", f"""
http_port {HOST}:{self.port} name=open
http_port {HOST}:{self.locked} name=locked
https_port {HOST}:{self.secure} name=secure tls-cert={certificate} tls-key={key}
auth_param digest program /bin/sh {digest}
auth_param digest realm squid
auth_param digest children 2 startup=1
auth_param basic program /bin/sh {helper}
auth_param basic realm squid
auth_param basic children 2 startup=1
acl here dst 127.0.0.0/8 ::1
acl is_open myportname open secure
acl knows_the_password proxy_auth REQUIRED
http_access deny !here
http_access allow is_open
http_access allow knows_the_password
http_access deny all
visible_hostname {self.token}
pid_filename {self.folder}/squid.pid
cache_log {self.folder}/cache.log
coredump_dir {self.folder}
access_log none
cache deny all
cache_mem 0
pinger_enable off
connect_timeout 5 seconds
shutdown_lifetime 0 seconds
max_filedescriptors 1024
{f'cache_effective_user {owner.pw_name}' if IS_ROOT else ''}
""")
        if IS_ROOT:
            os.chown(self.folder, owner.pw_uid, owner.pw_gid)
        self.run([squid, "-N", "-n", f"stand{self.token}", "-f", configuration])

    def is_up(self):
        # Its error page names it.
        return all(self.token in ask(port, "/") for port in (self.port, self.locked))

    def address(self):
        return {
            "port": self.port, "lockedPort": self.locked, "securePort": self.secure, "certificate": str(self.folder / "squid.pem"),
        }


class Microsocks(Server):
    """microsocks, a SOCKS 5 proxy, which wants the password."""

    def start(self):
        microsocks = program("microsocks", package="microsocks")
        [self.port] = free_ports(1)
        self.run([microsocks, "-i", HOST, "-p", self.port, "-u", "joe", "-P", "pw"])

    def is_up(self):
        try:
            with socket.create_connection((HOST, self.port), 1) as connection:
                connection.settimeout(2)
                connection.sendall(bytes([5, 1, 2]))
                return connection.recv(2) == bytes([5, 2])
        except OSError:
            return False


class Apache(Server):
    """Apache with files, and one of them behind a password."""

    MODULES = [
        "/usr/lib/apache2/modules", "/usr/lib64/httpd/modules", "/usr/libexec/apache2", "/opt/homebrew/lib/httpd/modules",
        "/usr/local/lib/httpd/modules",
    ]
    WANTED = "mpm_event unixd authn_core authn_file authz_core authz_user auth_basic auth_digest mime dir alias headers ssl socache_shmcb"

    def start(self):
        apache = program("apache2", "httpd", package="apache2")
        modules = next((Path(path) for path in self.MODULES if os.path.isdir(path)), None)
        if modules is None:
            raise Missing("the modules of apache2 are not where they are known to be")
        self.port, self.secure = free_ports(2)
        self.certificate, key = identity(self.folder)
        self.write("files/token", self.token)
        self.write("files/index.html", "<p>here</p>\n")
        self.write("files/letters.txt", b"abcdefghijklmnopqrstuvwxyz" * 1000)
        self.write("files/basic/secret.txt", "joe's\n")
        password = base64.b64encode(hashlib.sha1(b"pw").digest()).decode()
        self.write("passwords", f"joe:{{SHA}}{password}\n")
        for name in ("digest", "brief"):
            self.write(f"files/{name}/secret.txt", "joe's\n")
        self.write("digests", f"joe:joe only:{hashlib.md5(b'joe:joe only:pw').hexdigest()}\n")
        paths = [(name, modules / f"mod_{name}.so") for name in self.WANTED.split()]
        owner = user("www-data", "apache", "_www", "nobody")
        configuration = self.write("apache.conf", "\n".join([
            # Which of them are built in differs.
            *(f"LoadModule {name}_module {path}" for name, path in paths if path.exists()),
            f"ServerRoot {self.folder}",
            f"DefaultRuntimeDir {self.folder}",
            f"PidFile {self.folder}/apache.pid",
            f"ErrorLog {self.folder}/errors.log",
            "ServerName localhost",
            f"Listen {HOST}:{self.port}",
            f"Listen {HOST}:{self.secure}",
            f"User {owner.pw_name}" if IS_ROOT else "",
            f"Group #{owner.pw_gid}" if IS_ROOT else "",
            f"DocumentRoot {self.folder}/files",
            "DirectoryIndex index.html",
            f"TypesConfig {self.write('types', 'text/plain txt')}",
            "KeepAliveTimeout 60",
            "GracefulShutdownTimeout 1",
            "<Location /basic>",
            "AuthType Basic",
            'AuthName "joe only"',
            f"AuthUserFile {self.folder}/passwords",
            "Require valid-user",
            "</Location>",
            # Room for the counts of many nonces: each must be the next one.
            "AuthDigestShmemSize 1M",
            # The nonces of the second folder expire after a second.
            *(line for name, lifetime in (("digest", 300), ("brief", 1)) for line in (
                f"<Location /{name}>",
                "AuthType Digest",
                'AuthName "joe only"',
                f"AuthDigestDomain /{name}",
                "AuthDigestProvider file",
                f"AuthUserFile {self.folder}/digests",
                "AuthDigestNcCheck On",
                f"AuthDigestNonceLifetime {lifetime}",
                "Require valid-user",
                "</Location>")),
            f"<VirtualHost {HOST}:{self.secure}>",
            "SSLEngine on",
            f"SSLCertificateFile {self.certificate}",
            f"SSLCertificateKeyFile {key}",
            "</VirtualHost>",
            "",
        ]))
        self.run([apache, "-f", configuration, "-DFOREGROUND"])

    def is_up(self):
        return self.token in ask(self.port, "/token")

    def address(self):
        return {"port": self.port, "securePort": self.secure, "certificate": str(self.certificate)}


class PythonServer(Server):
    """A server of a package that `scripts/setup` installs."""

    PACKAGE = ""

    def python(self):
        inside = ROOT / ".build/servers-venv/bin/python3"
        script = f"from importlib.util import find_spec as find; raise SystemExit(not find({self.PACKAGE!r}))"
        for python in (inside, sys.executable):
            try:
                if subprocess.run([str(python), "-c", script], stderr=subprocess.DEVNULL, timeout=20).returncode == 0:
                    return python
            except OSError:
                pass
        raise Missing(f"{self.PACKAGE} is not on this machine (scripts/setup installs it from PyPI)")


class OIDCProvider(PythonServer):
    """oidc-provider-mock, a server of OpenID Connect: any client may sign in anybody."""

    PACKAGE = "oidc_provider_mock"

    def start(self):
        python = self.python()
        [self.port] = free_ports(1)
        self.run(["/usr/bin/env", "AUTHLIB_INSECURE_TRANSPORT=1", python, "-m", self.PACKAGE, "-H", HOST, "-p", self.port])

    def is_up(self):
        return f":{self.port}/oauth2/token" in ask(self.port, "/.well-known/openid-configuration", host=f"{HOST}:{self.port}")


class OAuth(PythonServer):
    """An OAuth 2 server over Authlib: oauth.py says what it has."""

    PACKAGE = "authlib"

    def start(self):
        python = self.python()
        [self.port] = free_ports(1)
        self.run([python, Path(__file__).with_name("oauth.py"), self.port])

    def is_up(self):
        return f"oauth {self.port}" in ask(self.port, "/token")


class Moto(PythonServer):
    """moto, S3 among other services of AWS, which checks signatures. The user joe may do everything."""

    PACKAGE = "moto"
    POLICY = '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}'
    # They need no signature: those that make the user.
    ACTIONS = [
        {"Action": "CreateUser"}, {"Action": "PutUserPolicy", "PolicyName": "all", "PolicyDocument": POLICY}, {"Action": "CreateAccessKey"},
    ]

    def start(self):
        python = self.python()
        [self.port] = free_ports(1)
        self.run([
            "/usr/bin/env", f"INITIAL_NO_AUTH_ACTION_COUNT={len(self.ACTIONS)}", python, "-c",
            "from moto.server import main; main()", "-H", HOST, "-p", self.port,
        ])

    def is_up(self):
        return "200 OK" in ask(self.port, "/moto-api/data.json")

    def address(self):
        told = ""
        for action in self.ACTIONS:
            form = urllib.parse.urlencode({**action, "UserName": "joe", "Version": "2010-05-08"}).encode()
            request = urllib.request.Request(f"http://{HOST}:{self.port}/", form, {
                "Authorization": "AWS4-HMAC-SHA256 Credential=none/20260101/us-east-1/iam/aws4_request, SignedHeaders=host, Signature=0"})
            with urllib.request.urlopen(request, timeout=5) as response:
                told = response.read().decode()
        read = {name: told.split(f"<{name}>")[1].split(f"</{name}>")[0] for name in ("AccessKeyId", "SecretAccessKey")}
        return {"port": self.port, "accessKeyID": read["AccessKeyId"], "secretAccessKey": read["SecretAccessKey"]}


class Tus(PythonServer):
    """A server of tus 1.0: tus.py says what it has. Whole and broken uploads are files in the folder."""

    NAME = ""

    def start(self):
        python = self.python()
        [self.port] = free_ports(1)
        self.run([python, Path(__file__).with_name("tus.py"), self.NAME, self.port, self.folder / "uploads"])

    def is_up(self):
        return f"tus {self.port}" in ask(self.port, "/token")


class Tuspyserver(Tus):
    PACKAGE = NAME = "tuspyserver"


class AiohttpTus(Tus):
    PACKAGE, NAME = "aiohttp_tus", "aiohttp-tus"


class Caddy(Server):
    """Caddy with the files of its folder: `/token`, and what a test writes there. Below `/gzip/`, it encodes them for a client that accepts gzip."""

    def start(self):
        caddy = program("caddy", package="caddy")
        [self.port] = free_ports(1)
        self.files = self.write("files/token", self.token).parent
        configuration = self.write("Caddyfile", f"""
{{
  admin off
  auto_https off
}}
http://:{self.port} {{
  bind {HOST}
  root * {self.files}
  handle_path /gzip/* {{
    encode {{
      gzip
      match header Accept-Ranges bytes
    }}
    file_server
  }}
  file_server
}}
""")
        self.run(["/usr/bin/env", f"HOME={self.folder}", caddy, "run", "--config", configuration, "--adapter", "caddyfile"])

    def is_up(self):
        return self.token in ask(self.port, "/token", host=f"{HOST}:{self.port}")

    def address(self):
        return {"port": self.port, "folder": str(self.files)}


class HTTP2Peer(Server):
    """A server that offers HTTP/2 (ALPN) over TLS: with its files `token`, `letters.txt` and `large` (8 MiB of zeros), and with `count`, if
    the server can run programs. A signal to `process` makes it start anew."""

    port = None

    def files(self):
        self.write("files/token", self.token)
        self.write("files/letters.txt", b"abcdefghijklmnopqrstuvwxyz" * 1000)
        self.write("files/large", bytes(8 * 1024 * 1024))
        return self.folder / "files"

    def identity(self):
        return identity(self.folder)

    def is_up(self):
        context = ssl.create_default_context(cafile=str(self.certificate))
        try:
            with socket.create_connection((HOST, self.secure), 1) as connection:
                connection.settimeout(2)
                with context.wrap_socket(connection, server_hostname="localhost") as secured:
                    secured.sendall(b"GET /token HTTP/1.0\r\nHost: localhost\r\n\r\n")
                    received = b""
                    while chunk := secured.recv(65536):
                        received += chunk
                    return self.token.encode() in received
        except OSError:
            return False

    def address(self):
        return {"port": self.port, "securePort": self.secure, "certificate": str(self.certificate), "process": self.process.pid}


class ApacheHTTP2(HTTP2Peer):
    """Apache, whose other port speaks HTTP/2 in clear text."""

    WANTED = "mpm_event unixd authn_core authz_core mime dir alias headers ssl socache_shmcb http2 cgid"

    def start(self):
        apache = program("apache2", "httpd", package="apache2")
        modules = next((Path(path) for path in Apache.MODULES if os.path.isdir(path)), None)
        if modules is None or not (modules / "mod_http2.so").exists():
            raise Missing("the module http2 of apache2 is not on this machine")
        self.port, self.secure = free_ports(2)
        files = self.files()
        self.certificate, key = self.identity()
        self.write("programs/count", "#!/bin/sh\nprintf 'Content-Type: application/octet-stream\\n\\n'\nexec wc -c\n").chmod(0o755)
        (self.folder / "programs").chmod(0o755)
        owner = user("www-data", "apache", "_www", "nobody")
        paths = [(name, modules / f"mod_{name}.so") for name in self.WANTED.split()]
        configuration = self.write("apache.conf", "\n".join([
            *(f"LoadModule {name}_module {path}" for name, path in paths if path.exists()),
            f"ServerRoot {self.folder}",
            f"DefaultRuntimeDir {self.folder}",
            f"PidFile {self.folder}/apache.pid",
            f"ErrorLog {self.folder}/errors.log",
            f"ScriptSock {self.folder}/cgi.sock",
            "ServerName localhost",
            f"Listen {HOST}:{self.port}",
            f"Listen {HOST}:{self.secure}",
            f"User {owner.pw_name}" if IS_ROOT else "",
            f"Group #{owner.pw_gid}" if IS_ROOT else "",
            f"DocumentRoot {files}",
            f"TypesConfig {self.write('types', 'text/plain txt')}",
            f"ScriptAlias /count {self.folder}/programs/count",
            "Protocols h2c http/1.1",
            "KeepAliveTimeout 60",
            "GracefulShutdownTimeout 1",
            f"<VirtualHost {HOST}:{self.secure}>",
            "Protocols h2 http/1.1",
            "SSLEngine on",
            f"SSLCertificateFile {self.certificate}",
            f"SSLCertificateKeyFile {key}",
            "</VirtualHost>",
            "",
        ]))
        if IS_ROOT:
            os.chown(self.folder, owner.pw_uid, owner.pw_gid)
        self.run([apache, "-f", configuration, "-DFOREGROUND"])


class Gateway(HTTP2Peer):
    """In front of a server of its own, which ends with it."""

    def signal(self, number):
        super().signal(number)
        self.behind.signal(number)

    def wait(self, seconds):
        super().wait(seconds)
        self.behind.wait(seconds)


class HAProxyHTTP2(Gateway):
    """haproxy in front of an Apache that speaks HTTP/1.1."""

    def start(self):
        haproxy = program("haproxy", package="haproxy")
        self.behind = ApacheHTTP2(self.folder / "behind")
        self.behind.start()
        self.token = self.behind.token
        self.sockets = [listener()]
        self.secure = self.sockets[0].getsockname()[1]
        self.certificate, key = self.identity()
        both = self.write("both.pem", self.certificate.read_bytes() + key.read_bytes())
        configuration = self.write("haproxy.cfg", f"""
global
  maxconn 500
  hard-stop-after 20s
defaults
  mode http
  timeout client 30s
  timeout server 30s
  timeout connect 2s
frontend secure
  bind fd@{self.sockets[0].fileno()} ssl crt {both} alpn h2,http/1.1
  default_backend plain
backend plain
  server apache {HOST}:{self.behind.port}
""")
        self.run([haproxy, "-W", "-db", "-f", configuration], handed=self.sockets)


class CaddyHTTP2(Gateway):
    """Caddy, with files, and in front of an Apache that speaks HTTP/1.1."""

    def start(self):
        caddy = program("caddy", package="caddy")
        self.behind = ApacheHTTP2(self.folder / "behind")
        self.behind.start()
        [self.secure] = free_ports(1)
        files = self.files()
        self.certificate, key = self.identity()
        configuration = self.write("Caddyfile", f"""
{{
  admin off
  auto_https off
}}
https://localhost:{self.secure} {{
  bind {HOST}
  tls {self.certificate} {key}
  root * {files}
  reverse_proxy /count {HOST}:{self.behind.port}
  file_server
}}
""")
        self.run(["/usr/bin/env", f"HOME={self.folder}", caddy, "run", "--config", configuration, "--adapter", "caddyfile"])


SERVERS = {
    "aiohttp-tus": AiohttpTus, "apache": Apache, "apache-http2": ApacheHTTP2, "caddy": Caddy, "caddy-http2": CaddyHTTP2, "haproxy": HAProxy,
    "haproxy-http2": HAProxyHTTP2, "httpbin": HTTPBin, "microsocks": Microsocks, "moto": Moto, "oauth": OAuth, "oidc": OIDCProvider,
    "squid": Squid, "tuspyserver": Tuspyserver,
}


class Stand:
    """The servers, and the folder that they write in."""

    def __init__(self):
        self.folder = None
        self.servers = []

    def start(self, names):
        """What is to be told of each server, once all that can be up are."""
        self.folder = Path(tempfile.mkdtemp(prefix="errand-stand-"))
        self.folder.chmod(0o755)
        told, waiting, starts = {}, {}, dict.fromkeys(names, 0)
        ready = {}
        end = time.monotonic() + START_LIMIT_SECONDS

        def begin(name):
            starts[name] += 1
            server = SERVERS[name](self.folder / f"{name}{starts[name]}")
            self.servers.append(server)
            try:
                server.start()
                waiting[name] = server
            except Missing as missing:
                told[name] = {"missing": str(missing)}
            except OSError as error:
                told[name] = {"failed": f"{name} can't be started: {error}"}

        for name in starts:
            begin(name)
        while waiting:
            for name, server in list(waiting.items()):
                status = server.process.poll()
                if status is None and server.is_up():
                    ready[name] = waiting.pop(name)
                elif status is not None or time.monotonic() > end:
                    del waiting[name]
                    what = "does not respond" if status is None else f"ended with {status}"
                    if status is not None and starts[name] < STARTS and time.monotonic() < end:
                        begin(name)
                    else:
                        told[name] = {"failed": f"{name} {what}: {server.log()}"}
            if waiting:
                wait_for_end(0.03)
        for name, server in ready.items():
            told[name] = server.address()
        return told

    def stop(self):
        for number, seconds in ((signal.SIGTERM, 1), (signal.SIGKILL, 5)):
            for server in self.servers:
                server.signal(number)
            end = time.monotonic() + seconds
            for server in self.servers:
                server.wait(max(0, end - time.monotonic()))
        for server in self.servers:
            server.close()
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)


# A signal is read here, between two steps: no server is started half.
SIGNALLED, SIGNAL = os.pipe()


def wait_for_end(seconds=None):
    """Waits for so long, or without a limit.

    Raises End when the standard input ends meanwhile, or a signal has come.
    """
    end = None if seconds is None else time.monotonic() + seconds
    while True:
        left = None if end is None else max(0, end - time.monotonic())
        readable, _, _ = select.select([0, SIGNALLED], [], [], left)
        if not readable:
            return
        if SIGNALLED in readable or not os.read(0, 4096):
            raise End


def main():
    names = sys.argv[1:]
    unknown = [name for name in names if name not in SERVERS]
    if unknown or not names:
        sys.exit(f"usage: stand.py NAME...   ({', '.join(SERVERS)})")

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: os.write(SIGNAL, b"!"))
    stand = Stand()
    try:
        print(json.dumps(stand.start(names)), flush=True)
        wait_for_end()
    except (End, BrokenPipeError):
        pass
    finally:
        stand.stop()


if __name__ == "__main__":
    main()
