"""nginx on loopback, with a free port and a folder of its own, for as long as a `with` block lasts."""

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

LARGE_BYTES = 64 * 1024 * 1024

CONFIGURATION = """
worker_processes 1;
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
events {{ worker_connections 512; }}
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
    server {{
        listen 127.0.0.1:{port};
        root {folder}/files;
    }}
}}
"""


def program():
    """The path of nginx, or None. Servers live in sbin, which is not on every user's PATH."""
    return shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/local/sbin:/usr/sbin:/sbin")


def small_body():
    """About 1 KB of JSON: the same as that of MemoryTransport in ClientBenchmarks."""
    item = {"id": 1001, "name": "a name of some length", "isActive": True, "score": 0.5, "tags": ["first", "second", "third"]}
    return json.dumps({"page": 1, "total": 9, "title": "one of many", "items": [item] * 9}, separators=(",", ":")).encode()


class Nginx:
    """`with Nginx() as base: …` gives the base URL; /small.json and /large.bin are there."""

    def __enter__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="errand-benchmarks-"))
        self.process = None
        try:
            return self.start()
        except BaseException:
            self.__exit__()
            raise

    def start(self):
        # The worker is another user where the master is root.
        self.folder.chmod(0o755)
        (self.folder / "temp").mkdir()
        files = self.folder / "files"
        files.mkdir()
        (files / "small.json").write_bytes(small_body())
        block = os.urandom(1024 * 1024)
        with open(files / "large.bin", "wb") as large:
            for _ in range(LARGE_BYTES // len(block)):
                large.write(block)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        configuration = self.folder / "nginx.conf"
        configuration.write_text(CONFIGURATION.format(folder=self.folder, port=port))
        with open(self.folder / "output.log", "wb") as output:
            self.process = subprocess.Popen([program(), "-p", str(self.folder), "-c", str(configuration)], stdout=output, stderr=output)
        for _ in range(200):
            if self.process.poll() is not None:
                break
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                return f"http://127.0.0.1:{port}"
            except OSError:
                time.sleep(0.05)
        raise RuntimeError("nginx did not start: " + (self.folder / "output.log").read_text(errors="replace"))

    def __exit__(self, *_):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
