internal import ErrandFormats

/// Separates the cookies of a `Set-Cookie` value that the session has joined from several fields.
enum SetCookieFields {
    /// Returns the value of each field.
    ///
    /// The session joins values with `, `. A date contains the same two characters (`Wed, 21 Oct 2015`). Therefore, a new value begins
    /// after `, ` only if a name and an equals sign follow (RFC 6265, 4.1.1).
    static func separated(_ joined: String) -> [String] {
        let octets = Array(joined.utf8)
        var values: [String] = []
        var start = 0
        for index in octets.indices where octets[index] == UInt8(ascii: ",") {
            guard index + 2 < octets.count, octets[index + 1] == UInt8(ascii: " "), beginsCookie(octets[(index + 2)...]) else { continue }
            values.append(String(decoding: octets[start..<index], as: UTF8.self))
            start = index + 2
        }
        values.append(String(decoding: octets[start...], as: UTF8.self))
        return values
    }

    /// Returns whether the octets begin with a name of a cookie and an equals sign.
    private static func beginsCookie(_ octets: ArraySlice<UInt8>) -> Bool {
        let name = octets.prefix(while: \.isTokenOctet)
        return !name.isEmpty && name.endIndex < octets.endIndex && octets[name.endIndex] == UInt8(ascii: "=")
    }
}
