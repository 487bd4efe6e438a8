#!/usr/bin/env python3
"""Signs requests as botocore does: reads a JSON list of requests from the file that is named, and prints the list of their `Authorization` fields."""

import datetime
import json
import sys

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
        request = botocore.awsrequest.AWSRequest(
            method=case["method"], url=case["url"], headers={}, data=case["body"].encode())
        for name, value in case["headers"]:
            request.headers.add_header(name, value)
        signer(credentials, case["service"], case["region"]).add_auth(request)
        fields.append(request.headers["Authorization"])
    json.dump(fields, sys.stdout)


main()
