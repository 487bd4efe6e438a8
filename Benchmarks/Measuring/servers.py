"""The servers on loopback, each with a free port, during a `with` block: nginx with its own folder, and a server for uploads."""

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import peers

LARGE_BYTES = 64 << 20
HUGE_BYTES = 4 << 30

CONFIGURATION = """
worker_processes 1;
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    sendfile on;
    tcp_nopush on;
    keepalive_timeout 3600s;
    keepalive_requests 1000000000;
    open_file_cache max=16 inactive=3600s;
    open_file_cache_valid 3600s;
    client_body_temp_path {folder}/temp/body;
    proxy_temp_path {folder}/temp/proxy;
    fastcgi_temp_path {folder}/temp/fastcgi;
    uwsgi_temp_path {folder}/temp/uwsgi;
    scgi_temp_path {folder}/temp/scgi;
    types {{ application/json json; }}
    default_type application/octet-stream;
    root {folder}/files;
    server {{
        listen 127.0.0.1:{port};
    }}
    server {{
        listen 127.0.0.1:{h2c_port} http2;
    }}
    {secure}
    {more}
}}
"""

SECURE = """
    ssl_certificate {folder}/server.pem;
    ssl_certificate_key {folder}/server.key;
    ssl_protocols TLSv1.2 TLSv1.3;
    server {{
        listen 127.0.0.1:{port} ssl;
    }}
    server {{
        listen 127.0.0.1:{http2_port} ssl http2;
        http2_max_concurrent_streams 512;
    }}
"""

# A proxy with a cache in front of the server of the files, and the same files with a lifetime, at full speed and at 100 MiB a second.
CACHES = """
    proxy_cache_path {folder}/cache keys_zone=entries:8m max_size=1g inactive=1h use_temp_path=off;
    server {{
        listen 127.0.0.1:{proxy_port};
        location / {{
            proxy_pass http://127.0.0.1:{port};
            proxy_cache entries;
            proxy_cache_valid 200 1h;
            add_header X-Cache-Status $upstream_cache_status;
        }}
    }}
    server {{
        listen 127.0.0.1:{fresh_port};
        add_header Cache-Control max-age=86400;
        location /limited/ {{
            alias {folder}/files/;
            limit_rate 100m;
        }}
    }}
"""

# The extensions of an authority, and of a server certificate that the authority signs.
EXTENSIONS = """
[req]
distinguished_name = name
[name]
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign
subjectKeyIdentifier = hash
[server]
basicConstraints = CA:FALSE
subjectAltName = DNS:localhost, IP:127.0.0.1
extendedKeyUsage = serverAuth
"""


def program():
    """The path of nginx, or None. Servers are in sbin, and sbin is not on every user's PATH."""
    return shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/local/sbin:/usr/sbin:/sbin")


def small_body():
    """About 1 KB of JSON, equal to the JSON of MemoryTransport in ClientBenchmarks."""
    item = {"id": 1001, "name": "a name of some length", "isActive": True, "score": 0.5, "tags": ["first", "second", "third"]}
    return json.dumps({"page": 1, "total": 9, "title": "one of many", "items": [item] * 9}, separators=(",", ":")).encode()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def end(process):
    if process and process.poll() is None:
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class Nginx:
    """`with Nginx() as server: …`. The server has /small.json, /large.bin (64 MiB) and /huge.bin (4 GiB, a sparse file).

    `base` is the URL of the server, and `h2c` the URL with HTTP/2 without TLS. `secure` is the URL with TLS, and `http2` the URL with TLS and HTTP/2 (both
    None without openssl). Their authority is in the file `authority`.
    """

    def __enter__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="errand-benchmarks-"))
        self.process = None
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def file(self, name):
        return self.folder / "files" / name

    def start(self):
        # The worker is another user if the master is root.
        self.folder.chmod(0o755)
        (self.folder / "temp").mkdir()
        (self.folder / "files").mkdir()
        self.file("small.json").write_bytes(small_body())
        block = os.urandom(1 << 20)
        with open(self.file("large.bin"), "wb") as large:
            for _ in range(LARGE_BYTES // len(block)):
                large.write(block)
        with open(self.file("huge.bin"), "wb") as huge:
            huge.truncate(HUGE_BYTES)
        port, h2c_port, secure_port, http2_port = free_port(), free_port(), free_port(), free_port()
        self.base, self.h2c = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{h2c_port}"
        self.secure, self.http2, self.authority = None, None, None
        secure = ""
        if shutil.which("openssl"):
            self.make_certificates()
            # A name, because the TLS of hyper does not accept an address.
            self.secure, self.authority = f"https://localhost:{secure_port}", self.folder / "authority.pem"
            self.http2 = f"https://localhost:{http2_port}"
            secure = SECURE.format(folder=self.folder, port=secure_port, http2_port=http2_port)
        configuration = self.folder / "nginx.conf"
        configuration.write_text(
            CONFIGURATION.format(folder=self.folder, port=port, h2c_port=h2c_port, secure=secure, more=self.more_servers(port)))
        with open(self.folder / "output.log", "wb") as output:
            self.process = subprocess.Popen([program(), "-p", str(self.folder), "-c", str(configuration)], stdout=output, stderr=output)
        for _ in range(200):
            if self.process.poll() is not None:
                break
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError("nginx did not start: " + (self.folder / "output.log").read_text(errors="replace"))

    def more_servers(self, port):
        """The configuration of more servers. `port` is the port of the server without TLS."""
        return ""

    def make_certificates(self):
        """An authority for this run only, and a certificate for localhost."""
        (self.folder / "extensions.cnf").write_text(EXTENSIONS)
        request = ["openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-config", "extensions.cnf"]
        for command in (
            request + ["-x509", "-extensions", "authority", "-days", "2", "-subj", "/CN=Errand benchmarks", "-keyout", "authority.key",
                       "-out", "authority.pem"],
            request + ["-subj", "/CN=localhost", "-keyout", "server.key", "-out", "server.csr"],
            ["openssl", "x509", "-req", "-in", "server.csr", "-CA", "authority.pem", "-CAkey", "authority.key", "-set_serial", "1",
             "-days", "2", "-extfile", "extensions.cnf", "-extensions", "server", "-out", "server.pem"],
        ):
            subprocess.run(command, cwd=self.folder, check=True, capture_output=True)

    def __exit__(self, *_):
        end(self.process)
        shutil.rmtree(self.folder, ignore_errors=True)


class CacheNginx(Nginx):
    """An Nginx with more servers. `proxy` is the URL of a proxy with a cache, `fresh` the URL of the files with a lifetime, and `limited` the same at
    100 MiB a second. The files of more sizes are called `bytes-SIZE.bin`."""

    SIZES = (4 << 10, 1 << 20, 16 << 20)

    def more_servers(self, port):
        for size in self.SIZES:
            self.file(f"bytes-{size}.bin").write_bytes(os.urandom(size))
        proxy_port, fresh_port = free_port(), free_port()
        self.proxy, self.fresh = f"http://127.0.0.1:{proxy_port}", f"http://127.0.0.1:{fresh_port}"
        self.limited = f"{self.fresh}/limited"
        return CACHES.format(folder=self.folder, port=port, proxy_port=proxy_port, fresh_port=fresh_port)


class Uploads:
    """`with Uploads(command) as server: …`. The server reads bodies and discards them. `base` is its URL. See Peers/go/server.go."""

    def __init__(self, command):
        self.command = command

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.base = self.process.stdout.readline().strip()
        return self

    def __exit__(self, *_):
        end(self.process)


class Servers:
    """Both servers, for the cases: `with Servers(builds) as server: … server.target(case)`."""

    def __init__(self, builds):
        self.builds = builds
        self.uploads = None

    def __enter__(self):
        self.nginx = Nginx().__enter__()
        return self

    def __exit__(self, *_):
        if self.uploads:
            self.uploads.__exit__()
        self.nginx.__exit__()

    def warm(self, case):
        """Reads the file of a case, so that the file is in the cache of the system for the first client."""
        with open(self.nginx.file(case.file), "rb") as file:
            while file.read(1 << 20):
                pass

    def target(self, case):
        """The URL of a case, and the environment of its clients. Throws peers.Unavailable."""
        environment = dict(os.environ, SWIFT_BACKTRACE="enable=no")
        base = self.nginx.base
        if case.server in ("secure", "http2"):
            if not self.nginx.secure:
                raise peers.Unavailable("there is no openssl on the PATH")
            base = self.nginx.secure
            if case.server == "http2":
                base = self.nginx.http2
                environment["BENCHMARK_HTTP2"] = "1"
            for name in ("BENCHMARK_CA", "NODE_EXTRA_CA_CERTS"):
                environment[name] = str(self.nginx.authority)
        elif case.server == "uploads":
            if not self.uploads:
                try:
                    self.uploads = Uploads(self.builds.command("go") + ["serve"]).__enter__()
                except peers.Unavailable as reason:
                    raise peers.Unavailable(f"the server of the uploads is written in Go: {reason}") from None
            base = self.uploads.base
            environment["BENCHMARK_FILE"] = str(self.nginx.file(case.file))
        return f"{base}/{case.file}", environment
