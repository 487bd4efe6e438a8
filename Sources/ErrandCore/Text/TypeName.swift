/// Returns the name of a type as Swift code writes the type: `[User]`, `Int`, `User?`, `Order.Line`.
///
/// The name contains no module names. If a type is private or declared in a function, the name omits the context of the type.
/// For other types, such as a tuple, the result is Swift's own description of the type.
package func typeName(_ type: Any.Type) -> String {
    var reader = TypeNameReader(rest: String(reflecting: type)[...])
    guard let name = reader.name(), reader.rest.isEmpty else { return "\(type)" }
    return name
}

/// A parser of Swift's full name of a type, such as `Swift.Array<App.User>`.
private struct TypeNameReader {
    var rest: Substring

    /// Returns the name; `nil` if the text is not the name of a struct, an enum or a class.
    mutating func name() -> String? {
        // A type that is nested in an extension has a prefix: `(extension in App):Swift.Array<Swift.Int>.Page`.
        if rest.hasPrefix("(extension in ") {
            guard let end = rest.firstIndex(of: ":") else { return nil }
            rest = rest[rest.index(after: end)...]
        }
        guard let module = identifier() else { return nil }
        var names: [String] = []
        while skip(".") {
            if rest.hasPrefix("(unknown context at ") {
                guard let end = rest.firstIndex(of: ")") else { return nil }
                rest = rest[rest.index(after: end)...]
                // The next type is private or local. The returned name omits the context of that type.
                names = []
                continue
            }
            guard let name = identifier(), let arguments = self.arguments() else { return nil }
            names.append(Self.written(name, arguments, isStandard: module == "Swift" && names.isEmpty))
        }
        return names.isEmpty ? nil : names.joined(separator: ".")
    }

    private static func written(_ name: Substring, _ arguments: [String], isStandard: Bool) -> String {
        switch (isStandard ? name : "", arguments.count) {
        case ("Array", 1): "[\(arguments[0])]"
        case ("Dictionary", 2): "[\(arguments[0]): \(arguments[1])]"
        case ("Optional", 1): "\(arguments[0])?"
        case (_, 0): String(name)
        default: "\(name)<\(arguments.joined(separator: ", "))>"
        }
    }

    /// Returns the generic arguments; an empty array if the type is not generic; `nil` if an argument has no name.
    private mutating func arguments() -> [String]? {
        guard skip("<") else { return [] }
        var arguments: [String] = []
        repeat {
            guard let argument = self.name() else { return nil }
            arguments.append(argument)
        } while skip(", ")
        return skip(">") ? arguments : nil
    }

    private mutating func identifier() -> Substring? {
        let identifier = rest.prefix { !"<>.,:() ".contains($0) }
        rest = rest.dropFirst(identifier.count)
        return identifier.isEmpty ? nil : identifier
    }

    private mutating func skip(_ text: String) -> Bool {
        guard rest.hasPrefix(text) else { return false }
        rest = rest.dropFirst(text.count)
        return true
    }
}
