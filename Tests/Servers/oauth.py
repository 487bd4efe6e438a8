#!/usr/bin/env python3
"""An OAuth 2 server over Authlib, which does the protocol: codes with PKCE, which it requires; refresh tokens, each good for once; revocation; devices;
signed assertions. It keeps all in memory, and lets in joe without a question.

    oauth.py PORT

GET /token        says who serves
POST /approve     user_code=CODE: joe enters the code of a device
POST /key         issuer=NAME&pem=KEY: the public key of a service
GET /me           needs a token
"""
import os
import sys
import time

os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"

from authlib.integrations.flask_oauth2 import AuthorizationServer, ResourceProtector
from authlib.oauth2.rfc6749 import AuthorizationCodeMixin, ClientMixin, TokenMixin, grants
from authlib.oauth2.rfc6750 import BearerTokenValidator
from authlib.oauth2.rfc7009 import RevocationEndpoint
from authlib.oauth2.rfc7523 import JWTBearerGrant
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oauth2.rfc8628 import DeviceAuthorizationEndpoint, DeviceCodeGrant, DeviceCredentialDict
from flask import Flask, jsonify, request
from joserfc.jwk import RSAKey

PORT = int(sys.argv[1])
BASE = f"http://127.0.0.1:{PORT}"
METHODS = ["none", "client_secret_basic", "client_secret_post"]
codes, tokens, devices, approved, keys, polls = {}, [], {}, set(), {}, {}

app = Flask("oauth")
app.config["OAUTH2_REFRESH_TOKEN_GENERATOR"] = True


class Client(ClientMixin):
    """Any name is that of a client. Those that begin with `public` have no secret; that of the others is `s3cret`."""

    def __init__(self, name):
        self.name = name

    def get_client_id(self):
        return self.name

    def get_default_redirect_uri(self):
        return None

    def get_allowed_scope(self, scope):
        return scope or ""

    def check_redirect_uri(self, uri):
        return uri.startswith("http://127.0.0.1:")

    def check_client_secret(self, secret):
        return secret == "s3cret"

    def check_endpoint_auth_method(self, method, endpoint):
        return (method == "none") == self.name.startswith("public")

    def check_response_type(self, kind):
        return kind == "code"

    def check_grant_type(self, kind):
        return True


class Token(dict, TokenMixin):
    def check_client(self, client):
        return self["client_id"] == client.get_client_id()

    def get_scope(self):
        return self.get("scope", "")

    def get_expires_in(self):
        return self["expires_in"]

    def is_expired(self):
        return self["at"] + self["expires_in"] < time.time()

    def is_revoked(self):
        return self["revoked"]

    def get_user(self):
        return "joe"

    def get_client(self):
        return Client(self["client_id"])


class Code(AuthorizationCodeMixin):
    def __init__(self, data, client):
        self.client, self.redirect, self.scope = client, data["redirect_uri"], data.get("scope", "")
        self.code_challenge, self.code_challenge_method = data.get("code_challenge"), data.get("code_challenge_method")

    def get_redirect_uri(self):
        return self.redirect

    def get_scope(self):
        return self.scope


def save_token(made, asked):
    tokens.append(Token(made, client_id=asked.client.get_client_id(), at=time.time(), revoked=False))


server = AuthorizationServer(app, query_client=Client, save_token=save_token)


class CodeGrant(grants.AuthorizationCodeGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = METHODS

    def save_authorization_code(self, code, asked):
        codes[code] = Code(asked.payload.data, asked.client.get_client_id())

    def query_authorization_code(self, code, client):
        found = codes.get(code)
        return found if found and found.client == client.get_client_id() else None

    def delete_authorization_code(self, code):
        for name in [name for name, one in codes.items() if one is code]:
            del codes[name]

    def authenticate_user(self, code):
        return "joe"


class RefreshGrant(grants.RefreshTokenGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = METHODS
    INCLUDE_NEW_REFRESH_TOKEN = True

    def authenticate_refresh_token(self, text):
        return next((one for one in tokens if one.get("refresh_token") == text and not one["revoked"]), None)

    def authenticate_user(self, token):
        return "joe"

    def revoke_old_credential(self, token):
        token["revoked"] = True


class ClientGrant(grants.ClientCredentialsGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = METHODS[1:]


class DeviceGrant(DeviceCodeGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = METHODS

    def query_device_credential(self, code):
        return DeviceCredentialDict(devices[code]) if code in devices else None

    def query_user_grant(self, code):
        return ("joe", True) if code in approved else None

    def should_slow_down(self, credential):
        # The second request is told to.
        polls[credential.get_user_code()] = polls.get(credential.get_user_code(), 0) + 1
        return polls[credential.get_user_code()] == 2


class AssertionGrant(JWTBearerGrant):
    def resolve_issuer_client(self, issuer):
        return Client(issuer) if issuer in keys else None

    def resolve_client_public_key(self, client):
        return keys[client.name]

    def authenticate_user(self, subject):
        return subject

    def get_audiences(self):
        return [f"{BASE}/oauth/token"]

    def has_granted_permission(self, client, user):
        return True


class Revocation(RevocationEndpoint):
    CLIENT_AUTH_METHODS = METHODS

    def query_token(self, text, hint):
        return next((one for one in tokens if text in (one["access_token"], one.get("refresh_token"))), None)

    def revoke_token(self, token, asked):
        token["revoked"] = True


class Devices(DeviceAuthorizationEndpoint):
    CLIENT_AUTH_METHODS = METHODS

    def get_verification_uri(self):
        return f"{BASE}/device"

    def save_device_credential(self, client, scope, data):
        devices[data["device_code"]] = {**data, "client_id": client, "scope": scope, "expires_at": time.time() + 600}


class Validator(BearerTokenValidator):
    def authenticate_token(self, text):
        return next((one for one in tokens if one["access_token"] == text), None)


server.register_grant(CodeGrant, [CodeChallenge(required=True)])
for one in (RefreshGrant, ClientGrant, DeviceGrant, AssertionGrant):
    server.register_grant(one)
server.register_endpoint(Revocation)
server.register_endpoint(Devices)
protector = ResourceProtector()
protector.register_token_validator(Validator())


@app.get("/token")
def whoami():
    return f"oauth {PORT}"


@app.get("/.well-known/oauth-authorization-server")
def metadata():
    return jsonify(
        issuer=BASE, authorization_endpoint=f"{BASE}/oauth/authorize", token_endpoint=f"{BASE}/oauth/token",
        revocation_endpoint=f"{BASE}/oauth/revoke", device_authorization_endpoint=f"{BASE}/oauth/device",
        code_challenge_methods_supported=["S256"])


@app.get("/oauth/authorize")
def authorize():
    return server.create_authorization_response(grant_user=None if request.args.get("deny") else "joe")


@app.post("/oauth/token")
def token():
    return server.create_token_response()


@app.post("/oauth/revoke")
def revoke():
    return server.create_endpoint_response(Revocation.ENDPOINT_NAME)


@app.post("/oauth/device")
def device():
    return server.create_endpoint_response(Devices.ENDPOINT_NAME)


@app.post("/approve")
def approve():
    approved.add(request.form["user_code"])
    return ""


@app.post("/key")
def key():
    keys[request.form["issuer"]] = RSAKey.import_key(request.form["pem"])
    return ""


@app.get("/me")
@protector()
def me():
    return "joe"


app.run("127.0.0.1", PORT, threaded=True)
