"""A server over TLS that breaks one rule of HTTP/2 on purpose. It needs only Python's standard library.

The server waits for the request, sends frames, and notes the reaction of the client: `GOAWAY CODE` for the whole connection, `RST_STREAM CODE`
for the stream alone, or `closed`. The rules are in RFC 9113.
"""
import socket
import ssl
import struct
import threading

CODES = ["NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED", "FRAME_SIZE_ERROR",
         "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY",
         "HTTP_1_1_REQUIRED"]
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, END_HEADERS, PADDED, ACK = 1, 4, 8, 1


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def field(name, value):
    """A literal field without indexing (RFC 7541, section 6.2.2), of less than 127 octets each."""
    return bytes([0, len(name)]) + name + bytes([len(value)]) + value


OK = b"\x88"                                    # :status 200, from the static table
SETTINGS_FRAME = frame(SETTINGS)


def head(block, flags=END_HEADERS, stream=1):
    return frame(HEADERS, flags, stream, block)


def after_head(rest):
    return SETTINGS_FRAME + head(OK) + rest


# name: (the reaction that the client must show, the server's octets after the request)
CONNECTION, STREAM = "GOAWAY ", "RST_STREAM "
CASES = {
    # Read as a frame, it is 4.7 MB long.
    "not-http2": (CONNECTION + "FRAME_SIZE_ERROR", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    "no-settings-first": (CONNECTION + "PROTOCOL_ERROR", head(OK, END_HEADERS | END_STREAM)),
    "frame-too-large": (CONNECTION + "FRAME_SIZE_ERROR", after_head(frame(DATA, 0, 1, bytes(16_385)))),
    "settings-with-odd-length": (CONNECTION + "FRAME_SIZE_ERROR", frame(SETTINGS, 0, 0, bytes(5))),
    "settings-on-a-stream": (CONNECTION + "PROTOCOL_ERROR", SETTINGS_FRAME + frame(SETTINGS, 0, 1)),
    "settings-window-too-large": (CONNECTION + "FLOW_CONTROL_ERROR", frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 1 << 31))),
    "settings-frame-size-too-small": (CONNECTION + "PROTOCOL_ERROR", frame(SETTINGS, 0, 0, struct.pack(">HI", 5, 16_383))),
    "ping-with-wrong-length": (CONNECTION + "FRAME_SIZE_ERROR", SETTINGS_FRAME + frame(PING, 0, 0, bytes(7))),
    "ping-on-a-stream": (CONNECTION + "PROTOCOL_ERROR", SETTINGS_FRAME + frame(PING, 0, 1, bytes(8))),
    "window-update-of-zero": (CONNECTION + "PROTOCOL_ERROR", SETTINGS_FRAME + frame(WINDOW_UPDATE, 0, 0, bytes(4))),
    "window-overflow": (CONNECTION + "FLOW_CONTROL_ERROR", SETTINGS_FRAME + frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", (1 << 31) - 1))),
    "push-promise": (CONNECTION + "PROTOCOL_ERROR", SETTINGS_FRAME + frame(PUSH_PROMISE, END_HEADERS, 1, struct.pack(">I", 2) + OK)),
    "data-on-stream-zero": (CONNECTION + "PROTOCOL_ERROR", after_head(frame(DATA, 0, 0, b"x"))),
    "data-on-an-idle-stream": (CONNECTION + "PROTOCOL_ERROR", after_head(frame(DATA, 0, 5, b"x"))),
    "headers-on-stream-zero": (CONNECTION + "PROTOCOL_ERROR", SETTINGS_FRAME + head(OK, stream=0)),
    "headers-on-an-even-stream": (CONNECTION + "PROTOCOL_ERROR", SETTINGS_FRAME + head(OK, stream=2)),
    "data-within-a-head": (CONNECTION + "PROTOCOL_ERROR", SETTINGS_FRAME + head(OK, 0) + frame(DATA, 0, 1, b"x")),
    "continuation-alone": (CONNECTION + "PROTOCOL_ERROR", SETTINGS_FRAME + frame(CONTINUATION, END_HEADERS, 1, OK)),
    "padding-too-long": (CONNECTION + "PROTOCOL_ERROR", after_head(frame(DATA, PADDED, 1, b"\x09abc"))),
    "compression-index-unknown": (CONNECTION + "COMPRESSION_ERROR", SETTINGS_FRAME + head(b"\xff\x80\x01")),
    "compression-cut-short": (CONNECTION + "COMPRESSION_ERROR", SETTINGS_FRAME + head(OK + b"\x00\x05ab")),
    # A malformed response is a PROTOCOL_ERROR (section 8.1.1); SwiftNIO's frame layer refuses the frame first, with this code.
    "data-before-the-head": (STREAM + "STREAM_CLOSED", SETTINGS_FRAME + frame(DATA, 0, 1, b"x")),
    "no-status": (STREAM + "PROTOCOL_ERROR", SETTINGS_FRAME + head(field(b"a", b"b"))),
    "status-twice": (STREAM + "PROTOCOL_ERROR", SETTINGS_FRAME + head(OK + OK)),
    "status-not-a-number": (STREAM + "PROTOCOL_ERROR", SETTINGS_FRAME + head(field(b":status", b"2x0"))),
    "field-name-in-capitals": (STREAM + "PROTOCOL_ERROR", SETTINGS_FRAME + head(OK + field(b"X-Y", b"z"))),
    "connection-field": (STREAM + "PROTOCOL_ERROR", SETTINGS_FRAME + head(OK + field(b"connection", b"close"))),
    "pseudo-field-of-a-request": (STREAM + "PROTOCOL_ERROR", SETTINGS_FRAME + head(OK + field(b":path", b"/"))),
    "pseudo-field-after-fields": (STREAM + "PROTOCOL_ERROR", SETTINGS_FRAME + head(field(b"a", b"b") + OK)),
    "line-end-in-a-value": (STREAM + "PROTOCOL_ERROR", SETTINGS_FRAME + head(OK + field(b"a", b"b\r\nc: d"))),
    "body-longer-than-its-length": (STREAM + "PROTOCOL_ERROR",
                                    SETTINGS_FRAME + head(OK + field(b"content-length", b"1")) + frame(DATA, END_STREAM, 1, b"ab")),
    "body-shorter-than-its-length": (STREAM + "PROTOCOL_ERROR",
                                     SETTINGS_FRAME + head(OK + field(b"content-length", b"9")) + frame(DATA, END_STREAM, 1, b"ab")),
    "pseudo-field-in-trailers": (STREAM + "PROTOCOL_ERROR", after_head(frame(DATA, 0, 1, b"x") + head(OK, END_HEADERS | END_STREAM))),
    "trailers-without-an-end": (STREAM + "PROTOCOL_ERROR", after_head(frame(DATA, 0, 1, b"x") + head(field(b"a", b"b")))),
}


class Server:
    """Serves the connections one at a time until the block ends."""

    def __init__(self, case, certificate, key):
        self.octets = CASES[case][1]
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate, key)
        self.context.set_alpn_protocols(["h2"])
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.told = []
        self.thread = threading.Thread(target=self.serve, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.listener.close()

    def seen(self):
        """The reaction of the client on the first connection: to the stream, or else to the connection."""
        self.thread.join(3)
        return self.told[0] if self.told else "nothing"

    def serve(self):
        # One connection is enough: none of these failures allows the client to send its request again.
        connection, _ = self.listener.accept()
        connection.settimeout(10)
        try:
            with self.context.wrap_socket(connection, server_side=True) as stream:
                self.told.append(self.converse(stream))
        except OSError as error:
            self.told.append(f"no TLS: {error}")

    def converse(self, stream):
        stream.settimeout(10)
        received, is_sent, goodbye = b"", False, "closed"
        position = 24                               # after the preface
        while True:
            try:
                octets = stream.recv(65_536)
            except OSError:
                return goodbye
            if not octets:
                return goodbye
            received += octets
            while len(received) >= position + 9:
                length = int.from_bytes(received[position:position + 3], "big")
                if len(received) < position + 9 + length:
                    break
                kind, payload = received[position + 3], received[position + 9:position + 9 + length]
                position += 9 + length
                if kind == HEADERS and not is_sent:
                    stream.sendall(self.octets)
                    is_sent = True
                elif kind == RST_STREAM:
                    return "RST_STREAM " + CODES[int.from_bytes(payload[:4], "big")]
                elif kind == GOAWAY:
                    goodbye = "GOAWAY " + CODES[int.from_bytes(payload[4:8], "big")]
                    return goodbye
