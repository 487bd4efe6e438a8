#!/usr/bin/env python3
"""Multipart bodies of other programs, and what other programs read of ours, for MultipartJudgeTests.

    multipart_bodies.py judge FOLDER BODY TYPE    what the parsers of FOLDER/multipart_judge.py read of the file BODY, as JSON
    multipart_bodies.py make FOLDER [CURL]        writes NAME.body, and NAME.type with its media type, of each program

Needs the PyPI packages werkzeug, python-multipart and multipart.
"""

import http.server
import json
import subprocess
import sys
import threading
from pathlib import Path

NAMES = ["plain.txt", "a b;c=d.txt", "näu 😀.txt", "100%.txt"]


def judge(folder, body, media_type):
    sys.path.insert(0, folder)
    import multipart_judge

    print(json.dumps(multipart_judge.judge(media_type, Path(body).read_bytes())))


def by_werkzeug():
    from werkzeug.datastructures import FileStorage, MultiDict
    from werkzeug.test import encode_multipart
    import io

    values = MultiDict([("text", "x\r\n--y")])
    for index, name in enumerate(NAMES):
        values.add("file", FileStorage(io.BytesIO(bytes(range(256)) * (index + 1)), filename=name, content_type="text/plain"))
    boundary, body = encode_multipart(values)
    return body, f'multipart/form-data; boundary="{boundary}"'


def by_email():
    from email.mime.application import MIMEApplication
    from email.mime.multipart import MIMEMultipart
    from email.policy import HTTP

    message = MIMEMultipart("mixed")
    for index, name in enumerate(NAMES):
        part = MIMEApplication(("x" * index).encode(), _encoder=lambda it: None, policy=HTTP)
        part.add_header("Content-Disposition", "attachment", filename=("utf-8", "", name))
        message.attach(part)
    head, _, body = message.as_bytes(policy=HTTP).partition(b"\r\n\r\n")
    return body, f'multipart/mixed; boundary="{message.get_boundary()}"'


def by_curl(curl, folder):
    got = {}

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            got["type"] = self.headers["Content-Type"]
            got["body"] = self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    (folder / "content").write_bytes(bytes(range(256)))
    arguments = ["-F", "text=x"]
    for name in NAMES:
        arguments += ["-F", f'file=@{folder}/content;type=text/plain;filename="{name}"']
    url = f"http://127.0.0.1:{server.server_address[1]}/"
    subprocess.run([curl, "-sS", "--noproxy", "*", *arguments, url], check=True, timeout=20)
    server.shutdown()
    return got["body"], got["type"]


def make(folder, curl=None):
    folder = Path(folder)
    made = {"werkzeug": by_werkzeug(), "email": by_email()}
    if curl:
        made["curl"] = by_curl(curl, folder)
    for name, (body, media_type) in made.items():
        (folder / f"{name}.body").write_bytes(body)
        (folder / f"{name}.type").write_text(media_type)


if __name__ == "__main__":
    {"judge": judge, "make": make}[sys.argv[1]](*sys.argv[2:])
