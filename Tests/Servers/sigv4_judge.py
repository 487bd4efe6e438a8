#!/usr/bin/env python3
"""Signs requests as botocore does: reads a JSON list of requests from the file that is named, and prints the list of their `Authorization` fields."""

import datetime
import json
import sys
import urllib.parse

import botocore.auth
import botocore.awsrequest
import botocore.credentials


def main():
    fields = []
    for case in json.load(open(sys.argv[1])):
        now = datetime.datetime.strptime(case["date"], "%Y%m%dT%H%M%SZ")
        botocore.auth.get_current_datetime = lambda remove_tzinfo=True: now
        credentials = botocore.credentials.Credentials(case["id"], case["secret"], case.get("token"))
        signer = botocore.auth.S3SigV4Auth if case["service"] == "s3" else botocore.auth.SigV4Auth
        url = case["url"]
        if case["service"] == "s3":
            # What botocore's serializer does with a key, before it signs.
            parts = urllib.parse.urlsplit(url)
            path = "/".join(urllib.parse.quote(urllib.parse.unquote(part), safe="-._~") for part in parts.path.split("/"))
            url = urllib.parse.urlunsplit(parts._replace(path=path))
        request = botocore.awsrequest.AWSRequest(
            method=case["method"], url=url, headers={}, data=case["body"].encode())
        for name, value in case["headers"]:
            request.headers.add_header(name, value)
        signer(credentials, case["service"], case["region"]).add_auth(request)
        fields.append(request.headers["Authorization"])
    json.dump(fields, sys.stdout)


main()
