/// Returns the path within a value, such as `user.addresses[2].street`, truncated to 200 characters. Keys that are data, such as
/// the keys of a dictionary, are shown as `[…]`.
///
/// - Parameter names: the name of each key.
package func shownPath(_ path: [any CodingKey], named names: [String]) -> String {
    zip(path, names).reduce(into: "") { text, step in
        if isOfData(step.0) {
            text += "[…]"
        } else if let index = step.0.intValue {
            text += "[\(index)]"
        } else {
            text += text.isEmpty ? step.1 : "." + step.1
        }
    }.shownSafely()
}

/// A coding key that the source code declares. The type of the key accepts any text, but the key is not data.
package protocol DeclaredCodingKey: CodingKey {}

/// Returns whether a key is data, such as a key of a dictionary, or of a type that accepts any key. Data may be secret. A case of an
/// enumeration is not data: the type declares the key.
package func isOfData(_ key: any CodingKey) -> Bool {
    if key is any DeclaredCodingKey { return false }
    let mirror = Mirror(reflecting: key)
    if mirror.displayStyle == .enum, mirror.children.isEmpty { return false }
    // An index of an array is not data.
    return key.intValue == nil || !(mirror.children.first?.label == "index" || "\(type(of: key))".contains("Index"))
}
