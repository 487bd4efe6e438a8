"""Python's http.cookiejar: the same cases as CookieBenchmarks (`cookiejar.py none|sites|site COUNT`), with the same line of figures."""

import sys
import time
import urllib.request
from http.cookiejar import Cookie, CookieJar


def cookie(domain):
    return Cookie(
        version=0, name="sid", value="31d4d96e407aad42", port=None, port_specified=False, domain=domain, domain_specified=False,
        domain_initial_dot=False, path="/", path_specified=True, secure=True, expires=None, discard=True, comment=None, comment_url=None, rest={})


def main():
    case, count = sys.argv[1], int(sys.argv[2])
    jar = CookieJar()
    for number in range(2_999):
        jar.set_cookie(cookie(f"h{number}.a.example" if case == "site" else f"s{number}.example"))
    jar.set_cookie(cookie("www.a.example"))
    request = urllib.request.Request("https://www.b.example/users/7" if case == "none" else "https://www.a.example/users/7")
    for number in (max(count // 5, 1), count):
        start = time.process_time_ns()
        for _ in range(number):
            jar.add_cookie_header(request)
            field = request.unredirected_hdrs.pop("Cookie", None)
        elapsed = time.process_time_ns() - start
    expected = None if case == "none" else "sid=31d4d96e407aad42"
    if field != expected:
        sys.exit(f"the field is {field}, not {expected}")
    print(f"cpu_ns={elapsed / count}")


main()
