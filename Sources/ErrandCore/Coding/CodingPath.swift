/// The place in a value, such as `user.addresses[2].street`, at most 200 characters. Keys that are data, such as those of a dictionary, show as `[…]`.
///
/// - Parameter names: one for each key.
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

/// A key that a program has written, although its type takes any key.
package protocol DeclaredCodingKey: CodingKey {}

/// Whether a key is data, which may be a secret: one of a dictionary, or of a type that takes any key. Keys that a type declares are the cases of an
/// enumeration.
package func isOfData(_ key: any CodingKey) -> Bool {
    if key is any DeclaredCodingKey { return false }
    let mirror = Mirror(reflecting: key)
    if mirror.displayStyle == .enum, mirror.children.isEmpty { return false }
    // The place in an array.
    return key.intValue == nil || !(mirror.children.first?.label == "index" || "\(type(of: key))".contains("Index"))
}
