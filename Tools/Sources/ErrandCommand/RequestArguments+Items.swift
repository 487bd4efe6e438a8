import ArgumentParser
import Errand

extension RequestArguments {
    /// The items after the URL.
    ///
    /// - Throws: `ValidationError` for a text that is not an item.
    var requestItems: [RequestItem] {
        get throws { try items.enumerated().map { try RequestItem($1, position: $0 + 1) } }
    }

    /// Refuses members of a JSON body beside another body.
    private func checkBody(beside member: RequestItem) throws {
        let label = member.label
        let others = [
            (content.json.isEmpty, "--json, which has the whole body"), (content.uploadFile == nil, "-T, which has the whole body"),
            (content.form.isEmpty, "-F. Repeat the option: -F '\(label)'"),
            (content.formData.isEmpty, "-d. Repeat the option: -d '\(label)'"),
        ]
        guard let other = others.first(where: { !$0.0 })?.1 else { return }
        throw ValidationError("'\(label)' is a member of a JSON body, and does not go with \(other)")
    }

    /// Refuses members of a JSON body beside another body, and where a query item is more likely to be meant.
    func checkMembers(of items: [RequestItem], method: String?) throws {
        guard let member = items.first(where: \.isMember) else { return }
        try checkBody(beside: member)
        let label = member.label
        let query = "'\(label)' is a member of a JSON body. For a query item, write \(member.name.shownSafely())==…"
        if content.dataInQuery { throw ValidationError("\(query), or -d '\(label)'") }
        if let method, ["GET", "HEAD"].contains(method) {
            throw ValidationError("\(query); for a JSON body, leave out \(method), which has none, or write -j '\(label)'")
        }
        if method == nil, !content.query.isEmpty {
            throw ValidationError("\(query), or -q before each one; for a JSON body, name the method: errand post")
        }
    }

    /// The options for the content, with the header fields of the items.
    ///
    /// - Throws: `ValidationError` for a file that can't be read.
    func content(with items: [RequestItem]) throws -> ContentOptions {
        var content = content
        content.header += try items.compactMap { try $0.headerLine() }
        return content
    }
}
