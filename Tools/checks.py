#!/usr/bin/env python3
"""Runs the command against a stand of real servers, one row a check, and prints a Markdown table.

    scripts/setup --checks
    swift build --package-path Tools --traits Brotli,SQLite,Zstandard
    stand.py --bin .build/checks-venv/bin httpbin nginx apache squid socks nghttpd caddy haproxy tus moto oidc hypercorn badtls \\
        multipart mitm -- Tools/checks.py PATH-OF-ERRAND [--write Tools/CHECKS.md]

The stand puts the servers' addresses into the environment (HTTPBIN, NGINX, …), and the certificates' files beside $CA. If a server does not run,
its rows are left out. A row without arguments is a check that is not possible yet; it has the reason. The exit status is 1 if a possible check
fails.

The rows `h2-rules-…` need the certificate of the stand, and no server of the stand. Tools/h2rules.py is a server that breaks one rule of HTTP/2 in
each run. `errand get --http2 --cacert FILE URL` must end within 3 s, and send the right code to the server.

The rows `redirect-to-http…` need the certificate and the nginx of the stand. The server that redirects from https to http is in this file.

The rows of ALONE run the command in a network namespace without a network. If this machine has no namespaces, these rows are left out.

The rows of BODIES need no server of the stand. Tools/bodies.py is an application that Hypercorn serves. Hypercorn is in the environment that
`scripts/setup --checks` makes. If the command was built without a coding, the rows of this coding are "not built in". The traits Brotli and
Zstandard build the codings in. Without the trait SQLite, the rows `cache-…` are "not built in".
"""
import contextlib
import http.server
import os
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import time

import bodies
import h2rules

LATER = "later: "
CODING = "coding: "
STORE = "store: "
ALONE = "alone: "
# Gives the namespace a network as soon as the command reports that it waits.
NETWORK_RETURNS = """
    folder=$(mktemp -d); trap 'rm -r "$folder"' EXIT; mkfifo "$folder/errors"
    "$@" 2>"$folder/errors" & command=$!
    exec 3<"$folder/errors"
    read -r line <&3; echo "$line" >&2
    ip link add v0 type veth peer name v1
    for name in lo v0 v1; do ip link set $name up; done
    ip address add 10.9.0.1/24 dev v0
    ip route add default via 10.9.0.2
    cat <&3 >&2
    wait $command
"""


def rows(scratch):
    """(name, server, arguments or None, what to find in status, output and messages, or the reason)"""
    env = os.environ
    certs = os.path.dirname(env.get("CA", ""))
    big = os.path.join(scratch, "big")
    with open(big, "wb") as f:
        f.write(b"x" * 200_000)

    def at(name, path=""):
        return env.get(name, "") + path

    code = ["-o", "/dev/null", "-w", "%{http_version} %{http_code}"]
    prior = ["--http2-prior-knowledge"]
    client = ["--cert", f"{certs}/client.pem", "--key", f"{certs}/client.key"]
    bad_client = ["--cert", f"{certs}/badclient.pem", "--key", f"{certs}/badclient.key"]
    b = "HTTPBIN"
    yield "get", b, [at(b, "/get?a=1")], r'"a": "1"'
    for name, path in (("md5", "auth/u/p/MD5"), ("sha256", "auth/u/p/SHA-256"), ("auth-int", "auth-int/u/p/MD5")):
        yield f"digest-{name}", b, ["--digest", "-u", "u:p", at(b, f"/digest-auth/{path}")], r'"authenticated": true'
    yield "digest-auth-int-post", b, ["--digest", "-u", "u:p", "-d", "a=b", at(b, "/digest-auth/auth-int/u/p/MD5")], "status 4 .*405"
    yield "anyauth-digest", b, ["--anyauth", "-u", "u:p", at(b, "/digest-auth/auth/u/p")], r'"authenticated": true'
    yield "anyauth-basic", b, ["--anyauth", "-u", "u:p", at(b, "/basic-auth/u/p")], r'"authenticated": true'
    yield "oauth2-bearer", b, ["--oauth2-bearer", "x", at(b, "/bearer")], r'"token": "x"'
    netrc = os.path.join(scratch, "netrc")
    with open(netrc, "w") as f:
        f.write("machine 127.0.0.1 login u password p\n")
    yield "netrc", b, ["--netrc-file", netrc, at(b, "/basic-auth/u/p")], r'"authenticated": true'
    yield "basic", b, ["-u", "u:p", at(b, "/basic-auth/u/p")], r'"authenticated": true'
    yield "bearer", b, ["-H", "Authorization: Bearer x", at(b, "/bearer")], r'"token": "x"'
    yield "gzip", b, ["--compressed", at(b, "/gzip")], r'"gzipped": true'
    yield "deflate", b, ["--compressed", at(b, "/deflate")], r'"deflated": true'
    yield "brotli", b, [CODING + "br", "--compressed", at(b, "/brotli")], r'"brotli": true'
    yield "redirect-5", b, ["-L", at(b, "/redirect/5")], r'"url"'
    yield "redirect-absolute", b, ["-L", at(b, "/absolute-redirect/3")], r'"url"'
    yield "redirect-307-post", b, ["-L", "-d", "a=b", at(b, "/redirect-to?url=/post&status_code=307")], r'"a": "b"'
    yield "cookies", b, ["-L", "-b", "", at(b, "/cookies/set?a=1")], r'"a": "1"'
    yield "cookies-without-a-jar", b, ["-L", at(b, "/cookies/set?a=1")], r'"cookies": {}'
    yield "cookies-to-a-file", b, ["-L", "-c", "-", "-o", "/dev/null", at(b, "/cookies/set?a=1")], r"127\.0\.0\.1\sFALSE\s/\sFALSE\s0\sa\s1"
    jar = os.path.join(scratch, "jar")
    with open(jar, "w") as f:
        f.write("127.0.0.1\tFALSE\t/\tFALSE\t0\ta\t1\n")
    yield "cookies-of-a-file", b, ["-b", jar, "-b", "b=2", at(b, "/cookies")], r'"a": "1",\s*"b": "2"'
    yield "cookies-deleted", b, ["-L", "-b", jar, at(b, "/cookies/delete?a")], r'"cookies": {}'
    other = os.path.join(scratch, "other-jar")
    with open(other, "w") as f:
        f.write("a.example\tTRUE\t/\tFALSE\t0\ta\t1\n")
    yield "cookies-of-another-host", b, ["-b", other, at(b, "/cookies")], r'"cookies": {}'
    moved = at(b, "/redirect-to?url=" + at(b, "/headers").replace("127.0.0.1", "localhost"))
    secrets = ["-H", "Authorization: Bearer s3cret", "-b", "a=s3cret", "-H", "X-API-Key: s3cret"]
    yield "redirect-to-another-host", b, ["-L"] + secrets + [moved], r'^(?!.*s3cret).*"Host": "localhost:'
    yield "chunked-stream", b, [at(b, "/stream/5")], r'"id": ?4'
    yield "drip", b, code + [at(b, "/drip?duration=1&numbytes=5&delay=0")], "200"
    yield "delay", b, ["--max-time", "1", at(b, "/delay/3")], r"status 6 .*timed out"
    yield "range", b, code + ["-r", "0-9", at(b, "/range/100")], "206"
    yield "etag-304", b, code + ["-H", "If-None-Match: x", at(b, "/etag/x")], "304"
    yield "post-form", b, ["-F", "file=@/etc/hostname", at(b, "/post")], r'"file": "'
    yield "utf8", b, [at(b, "/encoding/utf8")], "∮"
    yield "status", b, code + [at(b, "/status/418")], "status 4 .*418"
    yield "joined-options", b, ["-sSXPUT", "-da=b", "-HX-Tag:home", at(b, "/anything")], r'"a": "b".*"X-Tag": "home".*"method": "PUT"'
    yield "joined-user", b, ["-sSuu:p", at(b, "/basic-auth/u/p")], r'"authenticated": true'
    yield "dashed-value", b, ["-d", "-v", at(b, "/post")], r'"-v": ""'
    yield "items", b, [at(b, "/anything"), "a=1", "n:=2", "q==3", "X-Tag:home"], (
        r'"q": "3".*"X-Tag": "home".*"json": {\s*"a": "1",\s*"n": 2\s*}.*"method": "POST"')
    yield "items-after-a-member", b, ["-j", "a=1", "b=x", "put", at(b, "/anything")], r'"a": "1",\s*"b": "x".*"method": "PUT"'
    yield "subcommand-after-options", b, ["-i", "delete", at(b, "/delete")], "^status 0 HTTP/1.1 200"
    yield "no-fail", b, code + ["--no-fail", at(b, "/status/418")], "^status 0 .*418"
    yield "progress-bar", b, ["-#o", "/dev/null", at(b, "/bytes/2000")], r"100 %  2\.0 kB"
    yield "stream-bytes", b, ["-o", "/dev/null", "-w", "%{size_download}", at(b, "/stream-bytes/1024")], r"\b1024\b"
    n = "NGINX"
    yield "h1", n, code + [at(n, "/a.txt")], "1.1 200"
    yield "h2-alpn", "NGINX_TLS", code + [at("NGINX_TLS", "/a.txt")], r"\b2 200"
    yield "nginx-brotli", n, ["-o", "/dev/null", "-D", "-", "-H", "Accept-Encoding: br", at(n, "/a.txt")], r"(?i)content-encoding: br"
    yield "nginx-gzip", n, ["-o", "/dev/null", "-D", "-", "-H", "Accept-Encoding: gzip", at(n, "/a.txt")], r"(?i)content-encoding: gzip"
    yield "empty-reply", n, [at(n, "/empty")], "status 6 .*connection lost"
    yield "redirect-loop", n, ["-L", at(n, "/loop")], "status 6 .*part of a loop"
    yield "redirect-to-https", n, ["-L"] + code + [at(n, "/redir")], r"\b2 200"
    downgrade = "HTTPS_TO_HTTP"
    yield "redirect-to-http", downgrade, ["-L"] + code + [at(downgrade)], "status 6 .*from https to http. Follow it with --allow-downgrade"
    yield "redirect-to-http-allowed", downgrade, ["-L", "--allow-downgrade"] + code + [at(downgrade)], r"^status 0 .*1\.1 200"
    hosts = os.path.join(scratch, "hosts")
    with open(os.open(hosts, os.O_CREAT | os.O_WRONLY, 0o600), "w") as f:
        f.write('localhost "unlimited"\n')
    plain = at("NGINX_TLS", "/a.txt").replace("https:", "http:")
    yield "hsts", "NGINX_TLS", ["--hsts", hosts] + code + [plain], r"^status 0 .*\b2 200"
    yield "hsts-not-asked-for", "NGINX_TLS", code + [plain], r"\b1\.1 400"
    # The rows share a folder, in this order.
    cache = ["-v", "--cache", os.path.join(scratch, "cache")]
    yield "cache-miss", b, [STORE] + cache + [at(b, "/cache/600?a")], r"cache: fwd=uri-miss; fwd-status=200"
    yield "cache-hit", b, [STORE] + cache + [at(b, "/cache/600?a")], r"cache: hit; ttl=5\d\d\b"
    yield "cache-only", b, [STORE] + cache + ["-H", "Cache-Control: only-if-cached", at(b, "/cache/600?b")], "status 5 "
    yield "cache-vary", b, [STORE] + cache + [at(b, "/response-headers?Vary=X-A&Cache-Control=max-age%3D60")], "cache: fwd=uri-miss"
    yield "cache-vary-miss", b, [STORE] + cache + ["-H", "X-A: b", at(b, "/response-headers?Vary=X-A&Cache-Control=max-age%3D60")], "cache: fwd=vary-miss"
    yield "cache-nginx", n, [STORE] + cache + [at(n, "/a.txt")], r"cache: fwd=uri-miss; fwd-status=200"
    yield "cache-confirmed", n, [STORE] + cache + ["-H", "Cache-Control: no-cache", at(n, "/a.txt")], r"If-None-Match.*cache: fwd=request; fwd-status=304"
    yield "cache-list", b, [STORE, "cache", "list", cache[-1]], r"200  \d+ B  fresh for \d+ s  http://\S+/cache/600\?a"
    yield "cache-show", b, [STORE, "cache", "show", cache[-1], at(b, "/cache/600?a")], r"HTTP/1\.1 200 OK.*\"url\""
    yield "cache-remove", b, [STORE, "cache", "remove", cache[-1], at(b, "/cache/600?a")], "removed: 1"
    yield "cache-removed", b, [STORE] + cache + [at(b, "/cache/600?a")], r"cache: fwd=uri-miss"
    down = ["download", "--output-dir", scratch]
    yield "download", n, down + [at(n, "/a.txt")], r"^status 0 .*/a\.txt: \d+ B in "
    yield "download-exists", n, down + [at(n, "/a.txt")], "^status 23 .*--force replaces the file"
    yield "download-skipped", n, down + ["-C", "-", at(n, "/a.txt")], "^status 0 .*nothing was downloaded"
    yield "download-replaced", n, down + ["--force", at(n, "/a.txt")], r"^status 0 .*/a\.txt: \d+ B in "
    yield "download-named-by-the-response", b, down + [at(b, "/response-headers?Content-Disposition=attachment%3B+filename%3D%22x.json%22")], r"^status 0 .*/x\.json: \d+ B in "
    yield "download-redirected", b, down + ["-L", at(b, "/redirect-to?url=/bytes/9000")], r"^status 0 .*/redirect-to: 9.0 kB in "
    yield "download-404", n, down + [at(n, "/none")], "^status 4 .*404"
    yield "mtls", "NGINX_MTLS", client + [at("NGINX_MTLS")], "CN=client"
    yield "mtls-none", "NGINX_MTLS", code + [at("NGINX_MTLS")], "400"
    yield "mtls-bad", "NGINX_MTLS", bad_client + code + [at("NGINX_MTLS")], "400"
    yield "tls12", "NGINX_TLS12", [at("NGINX_TLS12")], "TLSv1.2"
    yield "early-413", n, code + ["--data-binary", f"@{big}", at(n, "/big")], "413"
    yield "range-multi", n, ["-o", "/dev/null", "-D", "-", "-r", "0-1,5-6", at(n, "/a.txt")], "multipart/byteranges"
    yield "head", n, ["-I", at(n, "/a.txt")], r"status 0 HTTP/1\.1 200 "
    yield "fail", n, ["-f", at(n, "/none")], r"status 4 +errand: GET \S+/none: 404 Not Found"
    port = at(n).rpartition(":")[2]
    yield "resolve", n, code + ["--resolve", f"nowhere.invalid:{port}:127.0.0.1", f"http://nowhere.invalid:{port}/a.txt"], "200"
    yield "unix-socket", n, code + ["--unix-socket", env.get("NGINX_SOCK", ""), "http://nowhere.invalid/a.txt"], r"1\.1 200"
    yield "pause-in-body", n, [at(n, "/sleep")], "end"
    yield "slow-body", n, ["--max-time", "1", "-o", "/dev/null", at(n, "/slow/1m.bin")], "status 6 .*timed out while reading the body"
    yield "one-per-connection", n, ["-L", "-o", "/dev/null", "-w", "connects %{num_connects}", at("NGINX_ONCE", "/a.txt")], "connects 1"
    a = "APACHE"
    yield "digest-qop", a, ["--digest", "-u", "joe:pw"] + code + [at(a, "/digest")], "200"
    yield "digest-wrong", a, ["--digest", "-u", "joe:no"] + code + [at(a, "/digest")], "401"
    yield "apache-basic", a, code + ["-u", "joe:pw", at(a, "/basic")], "200"
    yield "apache-h2", "APACHE_TLS", code + [at("APACHE_TLS", "/index.html")], r"\b2 200"
    # RFC 9113, section 3.1, withdrew the upgrade from HTTP/1.1: this is prior knowledge.
    yield "apache-h2c-prior-knowledge", a, prior + code + [at(a, "/index.html")], r"\b2 200"
    yield "dav-put", a, code + ["-T", "/etc/hostname", at(a, "/dav/x")], "20[14]"
    yield "dav-propfind", a, code + ["-X", "PROPFIND", "-H", "Depth: 1", at(a, "/dav/")], "207"
    yield "dav-mkcol", a, code + ["-X", "MKCOL", at(a, "/dav/d")], "201"
    yield "apache-range", a, code + ["-r", "5-", at(a, "/1m.bin")], "206"
    s = "SQUID"
    yield "proxy-http", s, ["-x", at(s), at(b, "/get?a=1")], r'"a": "1"'
    yield "proxy-connect", s, code + ["-x", at(s), at("NGINX_TLS", "/a.txt")], "200"
    tls_page = at("NGINX_TLS", "/a.txt")
    used = ["-o", "/dev/null", "-w", "%{http_version} %{http_code} proxy %{proxy_used}"]
    yield "https-proxy", s, used + ["-x", at("SQUID_TLS"), "--http1.1", tls_page], r"1\.1 200 proxy 1"
    yield "https-proxy-http", s, ["-x", at("SQUID_TLS"), at(b, "/get?a=1")], r'"a": "1"'
    yield "https-proxy-h2", s, used + ["-x", at("SQUID_TLS"), tls_page], r"\b2 200 proxy 1"
    yield "proxy-connect-h2", s, used + ["-x", at(s), tls_page], r"\b2 200 proxy 1"
    yield "proxy-environment", s, used + [at(b, "/get")], r"200 proxy 1", {"http_proxy": at(s)}
    yield "proxy-environment-tls", s, used + [tls_page], r"200 proxy 1", {"HTTPS_PROXY": at(s)}
    yield "proxy-HTTP_PROXY", s, used + [at(b, "/get")], r"200 proxy 0", {"HTTP_PROXY": "http://127.0.0.1:9"}
    yield "no-proxy", s, used + [at(b, "/get")], r"200 proxy 0", {"http_proxy": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.0/8"}
    yield "noproxy-option", s, used + ["-x", "http://127.0.0.1:9", "--noproxy", "*", at(b, "/get")], r"200 proxy 0"
    yield "proxy-basic", s, code + ["-x", at("SQUID_BASIC"), at(b, "/get")], "200"
    yield "proxy-basic-connect", s, code + ["-x", at("SQUID_BASIC"), at("NGINX_TLS", "/a.txt")], "200"
    yield "proxy-user", s, code + ["-x", at("SQUID_LOCKED"), "-U", "joe:pw", at(b, "/get")], "200"
    yield "proxy-anyauth", s, code + ["-x", at("SQUID_BASIC"), "--proxy-anyauth", at(b, "/get")], "200"
    yield "proxy-407", s, ["-x", at("SQUID_LOCKED"), at(b, "/get")], "status 6 .*proxy failure"
    yield "proxy-407-connect", s, ["-x", at("SQUID_LOCKED"), tls_page], "status 6 .*proxy failure.*407"
    digest = ["-x", at("SQUID_DIGEST"), "--proxy-digest"]
    yield "proxy-digest", s, digest + code + [at(b, "/get")], "200"
    yield "proxy-digest-connect", s, digest + code + [tls_page], "200"
    wrong = ["-x", at("SQUID_DIGEST"), "-U", "joe:no", "--proxy-digest"]
    yield "proxy-digest-wrong", s, wrong + [at(b, "/get")], "status 6 .*proxy failure"
    yield "connect-refused", s, ["-x", at(s), "https://127.0.0.1:9/"], "status 6 .*proxy failure"
    yield "socks5", "SOCKS", ["-x", at("SOCKS"), at(b, "/get?a=1")], r'"a": "1"'
    yield "socks5-auth", "SOCKS", ["-x", at("SOCKS_AUTH"), at(b, "/get?a=1")], r'"a": "1"'
    yield "socks5-refused", "SOCKS", ["-x", at("SOCKS_LOCKED"), at(b, "/get")], "status 6 "
    yield "socks5-tls", "SOCKS", code + ["-x", at("SOCKS"), at("NGINX_TLS", "/a.txt")], "200"
    yield "socks5-h2", "SOCKS", used + ["-x", at("SOCKS"), tls_page], r"\b2 200 proxy 1"
    yield "h2-trailers", "NGHTTPD", ["-o", "/dev/null", "-D", "-", at("NGHTTPD", "/a.txt")], "x-trail: yes"
    yield "h2c-prior-knowledge", "NGHTTPD", prior + ["-i", at("NGHTTPD_H2C", "/a.txt")], "^status 0 HTTP/2 200 .*nghttpd"
    yield "h2-upload-echo", "NGHTTPD", ["-d", "hello", at("NGHTTPD", "/x")], "hello"
    yield "h2-unix-socket", n, code + ["--unix-socket", env.get("NGINX_SOCK", ""), "--http2", "http://nowhere.invalid/a.txt"], r"1\.1 200"
    yield "alt-svc", "CADDY", ["-o", "/dev/null", "-D", "-", at("CADDY")], "(?i)alt-svc: h3"
    yield "caddy-h2", "CADDY", [at("CADDY")], "HTTP/2"
    h = "HAPROXY"
    yield "silent-drop", h, ["--max-time", "1", at(h, "/drop")], "status 6 .*timed out"
    yield "tarpit", h, code + [at(h, "/tarpit")], "50[03]"
    yield "reject", h, [at(h, "/reject")], "status 6 .*connection lost"
    yield "retry-after", h, ["-o", "/dev/null", "-D", "-", at(h, "/429")], "429"
    yield "retry-503", h, code + ["--retry", "8", at(h, "/503")], "200"
    yield "dead-backend", h, code + [at(h, "/x")], "503"
    tus = ["upload", "--tus", big, at("TUS", "/")]
    yield "tus-upload", "TUS", tus, r"^status 0 http://\S+/files/\w+ .*big: .* in "
    yield "tus-form", "TUS", tus + ["-F", "a=b"], "^status 64 .*multipart"
    yield "tus-404", "TUS", tus[:3] + [at("TUS", "/none/a/b/")], "^status 4 "
    yield "s3-bucket", "S3", code + ["-X", "PUT", at("S3", "/bkt")], "200"
    yield "s3-put", "S3", code + ["-T", big, at("S3", "/bkt/k")], "200"
    signed = ["--aws-sigv4", "aws:amz:us-east-1:s3", "-u", "test:test"]
    yield "s3-range-sigv4", "S3", signed + code + ["-r", "0-99", at("S3", "/bkt/k")], "206"
    yield "s3-multipart", "S3", ["-X", "POST", at("S3", "/bkt/m?uploads")], "UploadId"
    yield "s3-404", "S3", [at("S3", "/bkt/none")], "status 4 .*NoSuchKey"
    yield "oidc-discovery", "OIDC", [at("OIDC", "/.well-known/openid-configuration")], "token_endpoint"
    yield "oidc-jwks", "OIDC", [at("OIDC", "/jwks")], '"keys"'
    data = ["-d", "grant_type=refresh_token", "-d", "refresh_token=x", "-d", "client_id=a", "-d", "client_secret=b"]
    home = {"XDG_STATE_HOME": os.path.join(scratch, "state")}
    browser = "curl -s -L -o /dev/null --data sub=joe"
    login = ["login", "check", "--issuer", at("OIDC"), "--client-id", "errand", "--client-secret", "s", "--scope", "openid", "--scope", "email", "--browser", browser]
    yield "auth-login", "OIDC", ["auth"] + login, "signed in as check", home
    yield "auth-status", "OIDC", ["auth", "status"], "can be refreshed, for openid email", home
    yield "auth-use", "OIDC", ["--auth", "check", at("OIDC", "/userinfo")], '"sub": ?"joe"', home
    yield "auth-logout", "OIDC", ["auth", "logout", "check"], "signed out of check", home
    yield "oidc-bad-refresh", "OIDC", data + [at("OIDC", "/oauth2/token")], "error"
    yield "hypercorn-h2", "HYPERCORN", code + [at("HYPERCORN", "/")], r"\b2 \d"
    yield "alt-svc-h3", "HYPERCORN", ["-o", "/dev/null", "-D", "-", at("HYPERCORN", "/")], "h3"
    expected = {
        "good": "200", "wronghost": "TLS failure", "untrusted": "TLS failure", "expired": "TLS failure", "notyet": "TLS failure",
        "selfsigned": "TLS failure", "missing-chain": "TLS failure", "chain": "200", "tls10": "TLS failure", "tls12only": "200",
        "tls13only": "200", "truncated": "200|connection lost", "close-handshake": "status 6 ", "rst-handshake": "status 6 ",
        "hang-handshake": "status 6 .*timed out", "plain-on-tls": "TLS failure", "mtls": "status 6 ",
    }
    first = int(env.get("BADTLS_BASE", "0"))
    for number, (name, want) in enumerate(expected.items()):
        yield f"badtls-{name}", "BADTLS_BASE", code + ["--max-time", "3", f"https://localhost:{first + number}/"], want
    yield "badtls-mtls-client", "BADTLS_BASE", client + code + [f"https://localhost:{first + 16}/"], "200"
    yield "badtls-insecure", "BADTLS_BASE", ["-k"] + code + [f"https://localhost:{first + 5}/"], "200"
    staging = ["--resolve", f"staging.example:{first + 5}:127.0.0.1", f"https://staging.example:{first + 5}/"]
    yield "badtls-any-host", "BADTLS_BASE", code + staging, "TLS failure.*-k skips the check"
    yield "badtls-any-host-insecure", "BADTLS_BASE", ["-k"] + code + staging, (
        "^status 0 .*200 errand: warning: the certificate of staging.example is not checked")
    form = ["-F", "a=1", "-F", "b=@/etc/hostname;type=text/plain", "-F", f'c=@{big};filename="we ird;n.txt"']
    yield "multipart-agree", "MULTIPART", form + [at("MULTIPART")], '"agree": true'
    judge = at("MULTIPART")
    yield "multipart-two-files", "MULTIPART", ["-F", "f=@/etc/hostname", "-F", f"f=@{big};type=image/png", judge], '"agree": true'
    yield "multipart-text-type", "MULTIPART", ["-F", 'j={"a":1};type=application/json', "-F", "a=", judge], '"agree": true'
    yield "multipart-content-of-file", "MULTIPART", ["-F", f"t=<{big}", "-F", "u=<-;type=text/plain", judge], '"agree": true'
    yield "multipart-quoted", "MULTIPART", ["-F", f'q=@"{big}";filename="a;b c.txt"', "-F", "é=ü", judge], '"agree": true'
    # Some of the readers decode it, as they may or may not.
    quotation = f'q=@{big};filename="a \\"b\\".txt"'
    yield "multipart-quotation-mark", "MULTIPART", ["-F", quotation, judge], r'"email": [^}]*"a %22b%22\.txt"'
    yield "multipart-stdin", "MULTIPART", ["-F", "s=@-;filename=s.bin", judge], '"agree": true'
    yield "multipart-text", b, ["-F", "t=a;b=c", "-F", f"c=<{big}", at(b, "/post")], r'"c": "x{100}.*"t": "a;b=c"'
    yield "multipart-redirect-307", b, ["-L", "-F", "f=@/etc/hostname", at(b, "/redirect-to?url=/post&status_code=307")], r'"f": "'
    yield "multipart-h2", "NGHTTPD", ["-F", "name=value", at("NGHTTPD", "/x")], r'form-data; name="name"\s+value'
    yield from body_rows(b, at)
    wait = "errand: this machine has no network; waiting for a network, for at most "
    yield "network-away", ALONE, ["--wait-for-network", "1", "http://192.0.2.1/"], f"status 6 .*{wait}1 s.*not connected"
    # Nothing listens there.
    back = ["--wait-for-network", "600", "http://10.9.0.1:9/"]
    yield "network-returns", ALONE + NETWORK_RETURNS, back, f"status 6 .*{wait}600 s.*listening on this port"
    m = "MITM"
    yield "mitm-http", m, code + ["-x", at(m), at(b, "/get")], "200"
    yield "mitm-tls", m, code + ["--cacert", at("MITM_CA"), "-x", at(m), at("NGINX_TLS", "/a.txt")], "200"
    yield "mitm-untrusted", m, ["-x", at(m), "-o", "/dev/null", at("NGINX_TLS", "/a.txt")], "TLS failure"


def body_rows(b, at):
    """Event streams, lines, content codings and compressed requests."""
    n = "BODIES"
    prior = ["--http2-prior-knowledge"]
    once = ["--max-reconnects", "0"]
    all_events = r"id: 1 event: tick data: one  id: 2 data: zwölf data: lines  id: 3 data: three"
    yield "events", n, ["events", at(n, "/events")], "^status 0 " + all_events
    yield "events-say-how-to-stop", n, ["events", at(n, "/events")], "it connects again. Ctrl-C ends the command; with --max-reconnects 0"
    yield "events-h2", n, ["events"] + prior + [at(n, "/events")], "^status 0 " + all_events
    yield "events-count", n, ["events", "--count", "1", at(n, "/events")], r"^status 0 id: 1 event: tick data: one\s*$"
    yield "events-last-id", n, ["events", "--last-event-id", "2", at(n, "/events")], "^status 0 id: 3 data: three"
    yield "events-once", n, ["events", "--data-only"] + once + [at(n, "/events")], r"^status 0 one zwölf lines\s*$"
    question = ["--data-only", "--json", '{"question":"why not"}', at(n, "/chat")]
    yield "events-chat", n, ["events"] + question, r'^status 0 {"text":"why "} {"text":"not "} \[DONE\]\s*$'
    yield "events-chat-h2", n, ["events"] + prior + question, r'^status 0 {"text":"why "} {"text":"not "} \[DONE\]\s*$'
    yield "events-no-stream", n, ["events", at(n, "/page")], "status 6 .*not an event stream: the Content-Type is text/html"
    yield "events-silent", n, ["events", "--silence", "0.5", at(n, "/silent")], "status 6 .*silent event stream"
    yield "events-404", n, ["events", at(n, "/none")], "status 4 .*404"
    yield "ndjson", n, [at(n, "/ndjson")], r'^status 0 {"n":1} {"n":2}.  {"n":3}'
    whole = r"^status 0 00000 decoded.*03999 decoded as it should be\s*$"
    for name in ("gzip", "gzip-members", "deflate", "deflate-raw", "twice"):
        yield f"coded-{name}", n, ["--compressed", at(n, f"/coded/{name}")], whole
    yield "coded-gzip-h2", n, ["--compressed"] + prior + [at(n, "/coded/gzip")], whole
    for name in ("br", "zstd"):
        yield f"coded-{name}", n, [CODING + name, "--compressed", at(n, f"/coded/{name}")], whole
    yield "coded-unknown", n, ["--compressed", "-i", at(n, "/coded/unknown")], "(?i)^status 0 .*content-encoding: x-other.*00000 decoded"
    yield "coded-off", n, ["-o", "/dev/null", "-D", "-", at(n, "/coded/gzip")], "(?i)content-encoding: gzip"
    yield "coded-cut-off", n, ["--compressed", "-o", "/dev/null", at(n, "/coded/cut-off")], "status 6 .*gzip: the body ends early"
    yield "coded-corrupt", n, ["--compressed", "-o", "/dev/null", at(n, "/coded/corrupt")], "status 6 .*can't be decoded: gzip: "
    yield "coded-bomb", n, ["--compressed", "-o", "/dev/null", at(n, "/coded/bomb")], "status 6 .*more than 100 times the bytes"
    # Brotli if the command was built with it, otherwise gzip.
    yield "nginx-decoded", "NGINX", ["--compressed", at("NGINX", "/a.txt")], r"^status 0 (hello nginx ){2000}\s*$"
    long = ["--compress-body", "--data-raw", "long " * 1000]
    yield "compress-body", n, long + [at(n, "/decode")], "^status 0 coding gzip, received fewer, 5000 bytes"
    yield "compress-body-h2", n, long + prior + [at(n, "/decode")], "^status 0 coding gzip, received fewer, 5000 bytes"
    yield "compress-body-file", n, ["--compress-body", "-F", "f=@/etc/services", at(n, "/decode")], "^status 0 coding gzip, received fewer"
    yield "compress-body-short", n, ["--compress-body", "--data-raw", "x", at(n, "/decode")], "^status 0 coding identity, received all, 1 bytes"
    yield "compress-body-httpbin", b, long + [at(b, "/post")], '"Content-Encoding": "gzip"'
    for path in ("refuse", "refuse-silently"):
        yield f"compress-body-{path}", n, long + [at(n, "/" + path)], "^status 0 coding identity, received all, 5000 bytes"
    yield "compress-body-415", n, long + ["-w", "%{http_code}", at(n, "/refuse-all")], "^status 4 415"


def has_namespaces():
    """Whether this machine allows network namespaces with interfaces."""
    if not shutil.which("unshare") or not shutil.which("ip"):
        return False
    return subprocess.run(["unshare", "-rn", "ip", "link", "add", "v0", "type", "veth"], capture_output=True).returncode == 0


def alone(server):
    """The words before the command of a row ALONE; none for another row."""
    if not server.startswith(ALONE):
        return []
    script = server.removeprefix(ALONE)
    return ["unshare", "-rn"] + (["/bin/sh", "-c", script, "sh"] if script else [])


def run(errand, arguments, variables={}, launcher=()):
    words = [errand]
    if arguments[0] in ("events", "download", "upload", "auth", "cache"):
        # Before the options that all have.
        count = 1 if arguments[0] in ("events", "download", "upload") else 2
        words, arguments = words + arguments[:count], arguments[count:]
    is_request = words[1:2] not in (["auth"], ["cache"])
    if is_request and "--cacert" not in arguments and os.environ.get("CA"):
        words += ["--cacert", os.environ["CA"]]
    if is_request and "--max-time" not in arguments:
        words += ["--max-time", "8"]
    ended = subprocess.run([*launcher] + words + arguments, capture_output=True, timeout=30, stdin=subprocess.DEVNULL,
                           env={k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")} | variables)
    text = (ended.stdout + b" " + ended.stderr).decode("utf-8", "replace").replace("\n", " ").replace("\0", "")
    return f"status {ended.returncode} {text}"


@contextlib.contextmanager
def redirecting_to(url):
    """Serves redirects to `url` over TLS, with the certificate of the stand. The value of the context is the URL of the server."""
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            self.send_response(302)
            self.send_header("Location", url)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    folder = os.path.dirname(os.environ["CA"])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{folder}/good.pem", f"{folder}/good.key")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"https://localhost:{server.server_port}/"
        server.shutdown()


def broken_rules(errand):
    """(name, verdict, line of the table of rules) for each rule that a server breaks."""
    ca = os.environ["CA"]
    folder = os.path.dirname(ca)
    for name, (want, _) in h2rules.CASES.items():
        with h2rules.Server(name, f"{folder}/good.pem", f"{folder}/good.key") as server:
            start = time.monotonic()
            words = [errand, "get", "--http2", "--cacert", ca, f"https://localhost:{server.port}/"]
            ended = subprocess.run(words, capture_output=True, timeout=30, stdin=subprocess.DEVNULL)
            seconds = time.monotonic() - start
            seen = server.seen()
        text = ended.stderr.decode("utf-8", "replace").strip().replace(f"localhost:{server.port}", "localhost")
        text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1", text)
        text = re.sub(r" after [\d.]+ m?s", "", text)
        passes = ended.returncode == 6 and seconds < 3 and text.startswith("errand: ") and seen == want
        if not passes:
            print(f"h2-rules-{name}: status {ended.returncode}, {seconds:.1f} s, wanted {want}, seen {seen}: {text}", file=sys.stderr)
        line = f"| {name} | {text.removeprefix('errand: ')} | {seen} | {'under 1' if seconds < 1 else f'{seconds:.0f}'} |"
        yield name, "passes" if passes else "fails", line


def rules_table(lines):
    if not lines:
        return []
    return ["", "## Servers that break the rules of HTTP/2", "",
            "`errand get --http2 --cacert FILE https://localhost/`, against `Tools/h2rules.py`. Each call must end within 3 s.", "",
            "| What the server does | What the command says | The code that the server receives | Seconds |", "|---|---|---|---|"] + lines


def accepted_codings(errand):
    """The codings that the command was built with."""
    url = os.environ.get("BODIES")
    return re.findall(r"[\w-]+", run(errand, ["--compressed", f"{url}/accepts"])) if url else []


def main(scratch):
    errand = sys.argv[1]
    accepted = accepted_codings(errand)
    has_store = "has no cache" not in run(errand, ["cache", "list", scratch])
    lines, counts = [], {"passes": 0, "fails": 0, "not yet": 0, "not built in": 0, "server not here": 0}
    for name, server, arguments, want, *variables in rows(scratch):
        shown = ""
        if arguments is None:
            verdict, shown = "not yet", want.removeprefix(LATER)
        elif not (has_namespaces() if server.startswith(ALONE) else os.environ.get(server)):
            verdict = "server not here"
        elif arguments[0] == STORE and not has_store:
            verdict = "not built in"
        elif arguments[0].startswith(CODING) and arguments[0].removeprefix(CODING) not in accepted:
            verdict = "not built in"
        else:
            arguments = [argument for argument in arguments if argument != STORE and not argument.startswith(CODING)]
            got = run(errand, arguments, *variables, launcher=alone(server))
            verdict = "passes" if re.search(want, got) else "fails"
            if verdict == "fails":
                shown = "see the run"
                print(f"{name}: wanted {want!r}, got {got[:300]!r}", file=sys.stderr)
        counts[verdict] += 1
        lines.append(f"| {name} | {verdict} | {shown} |")
    broken = []
    if os.environ.get("CA"):
        for name, verdict, got in broken_rules(errand):
            counts[verdict] += 1
            broken.append(got)
            lines.append(f"| h2-rules-{name} | {verdict} |  |")
    summary = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    table = "\n".join(
        ["# The command against real servers", "",
         f"{sum(counts.values())} checks: {summary}. `Tools/checks.py` has written this file, and explains how to run the checks again.", "",
         "| Check | Today | |", "|---|---|---|"] + lines + rules_table(broken)) + "\n"
    if "--write" in sys.argv:
        with open(sys.argv[sys.argv.index("--write") + 1], "w") as f:
            f.write(table)
    print(table)
    return 1 if counts["fails"] else 0


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, bodies.Server() as server, contextlib.ExitStack() as context:
        os.environ["BODIES"] = server.url
        if os.environ.get("CA") and os.environ.get("NGINX"):
            os.environ["HTTPS_TO_HTTP"] = context.enter_context(redirecting_to(os.environ["NGINX"] + "/a.txt"))
        status = main(folder)
    sys.exit(status)
