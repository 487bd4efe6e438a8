#!/usr/bin/env python3
"""A server of tus 1.0 of PyPI, with uploads at /files.

    tus.py tuspyserver|aiohttp-tus PORT FOLDER

GET /token        says who serves
GET /finished     the whole uploads so far, as a list of JSON: {"name": …, "bytes": …, "sha256": …}

What a client must know about tuspyserver 4.4.3:

- Its extensions: creation, creation-defer-length, creation-with-upload, expiration, termination, concatenation. `Upload-Checksum` is ignored.
- OPTIONS is served at /files/ alone, POST at both. Each request but OPTIONS needs `Tus-Resumable: 1.0.0`: 412.
- HEAD of an upload without the metadata `filename` and `filetype` is 400, so that the upload can't be resumed.
- HEAD has the length of the upload as `Content-Length`.
- A broken PATCH keeps the bytes before the break. A PATCH at another offset is 409 without `Upload-Offset`, and beyond the length 400.
- A PATCH without `Content-Length` (chunked) is 422, and with another type 415. In both cases the bytes are kept all the same: ask HEAD.
- HEAD during a PATCH, or just after a break, has the offset before this PATCH. A PATCH during another PATCH stops the whole server for 30 s
  (here 1 s), and is then 503.
- HEAD of a whole upload is 200 with the whole offset. An empty PATCH at this offset is 204. An unknown or deleted upload is 404.
- `Location` is absolute, with the scheme http.

What a client must know about aiohttp-tus 1.1.0:

- Its extensions: creation, termination, file-check. POST ignores a body, and its response has no `Upload-Offset`. OPTIONS is served at /files alone.
- POST without `Tus-Resumable` is 500, without the metadata `filename` 404, and with the name of a whole upload 409 (if the name has an extension).
- A broken PATCH keeps nothing, because the server reads a whole PATCH before it keeps a byte. More than client_max_size (below) is 413.
- A PATCH without `Content-Length` (chunked) is 204, but does not advance the offset. A PATCH beyond the length is 204 too.
- The server forgets a whole upload: HEAD and DELETE are then 404. A PATCH to an unknown upload is 500.
- An empty upload is whole only after an empty PATCH.
"""
import hashlib
import json
import sys
from pathlib import Path

NAME, PORT, FOLDER = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
HOST = "127.0.0.1"
finished = []


def finish(name, path):
    content = Path(path).read_bytes()
    finished.append({"name": name, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()})


def tuspyserver():
    import tuspyserver.request
    import uvicorn
    from fastapi import FastAPI
    from tuspyserver import create_tus_router

    lock = tuspyserver.request.acquire_upload_lock
    tuspyserver.request.acquire_upload_lock = lambda *given, **named: lock(*given, **{**named, "timeout": 1})
    app = FastAPI()
    app.get("/token")(lambda: f"tus {PORT}")
    app.get("/finished")(lambda: finished)
    app.include_router(create_tus_router(
        prefix="files", files_dir=str(FOLDER), on_upload_complete=lambda path, metadata: finish(metadata.get("filename", ""), path)))
    uvicorn.run(app, host=HOST, port=PORT, log_level="warning")


def aiohttp_tus():
    from aiohttp import web
    from aiohttp_tus import setup_tus

    async def done(request, resource, path):
        finish(resource.file_name, path)

    async def token(request):
        return web.Response(text=f"tus {PORT}")

    async def all_finished(request):
        return web.Response(text=json.dumps(finished), content_type="application/json")

    app = web.Application(client_max_size=64 << 20)
    app.router.add_get("/token", token)
    app.router.add_get("/finished", all_finished)
    setup_tus(app, upload_path=FOLDER, upload_url="/files", on_upload_done=done)
    web.run_app(app, host=HOST, port=PORT, print=None)


FOLDER.mkdir(exist_ok=True)
{"tuspyserver": tuspyserver, "aiohttp-tus": aiohttp_tus}[NAME]()
