/// Bodies that contain secrets, in each syntax that redaction understands.
public enum SecretBodies {
    /// The bodies. Each secret begins with the text to search for, so that a part of a secret is found too.
    public static let all: [(type: String?, text: String)] = [
        ("application/json", #"{"user": "u", "password": "s3cr3t-a", "deep": [{"access_token": {"x": ["s3cr3t-b"]}}], "ok": true}"#),
        (
            "application/json",
            #"{"p\u0061ssword": "s3cr3t", "url": "https://u:s3cr3t@a.example/?sig=s3cr3t", "in": "{\"token\":\"s3cr3t\"}"}"#
        ),
        ("application/problem+json", #"{"tenant": "s3cr3t", "x": "/y?api_key=s3cr3t&b=1"}"#),
        ("application/octet-stream", #" [{"tenant": "s3cr3t"}]"#),
        (nil, #"{"refresh_token": "s3cr3t", "truncated": "#),
        ("application/json", #""password": "s3cr3t", not json"#),
        (
            "application/x-www-form-urlencoded",
            "user=u&password=s3cr3t&client%5Fsecret=s3cr3t&a=https://x/?token=s3cr3t&tenant=s3cr3t+s3cr3t"
        ),
        ("multipart/form-data; boundary=b", multipart.replacing("s3cr3t-part", with: "s3cr3t\r\n--x\r\ns3cr3t")),
        ("multipart/mixed; boundary=\"b\"", "--b\r\nContent-Type: application/json\r\n\r\n{\"token\":\"s3cr3t\"}\r\n--b--"),
        ("application/x-ndjson", "{\"token\":\"s3cr3t\"}\n{\"a\":1}\n{\"password\":\"s3cr3t\"}\n"),
        ("text/event-stream", "event: x\ndata: {\"token\":\"s3cr3t\"}\n\ndata: token=s3cr3t\ndata: \"password\": \"s3cr3t\"\n\n"),
        ("text/plain", "Authorization: Bearer s3cr3t\r\nX: y\ntoken=s3cr3t s3cr3t&a=b 'secret' : 's3cr3t' https://u:s3cr3t@h/"),
        ("text/yaml", "a: 1\nclient_secret:   s3cr3t\n"),
        (
            "application/xml",
            "<a><ns:Password x='y'>s3cr3t<b/>s3cr3t</ns:Password><session-token>s3cr3t</session-token><c token=\"s3cr3t\"/></a>"
        ),
        (nil, "ＡＰＩ token = \\\"s3cr3t\\\""),
    ]
}

public let multipart = [
    "--b", #"Content-Disposition: form-data; name="note""#, "", "hello", "--b",
    #"Content-Disposition: form-data; name="file"; filename="a.png""#, "Content-Type: image/png", "", "\u{1}", "--b",
    #"Content-Disposition: form-data; name="token""#, "", "s3cr3t-part", "--b--", "",
].joined(separator: "\r\n")
