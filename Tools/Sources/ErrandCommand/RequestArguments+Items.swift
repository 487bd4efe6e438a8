import ArgumentParser
import Errand

extension RequestArguments {
    /// The items after the URL.
    ///
    /// - Throws: `ValidationError` for a text that is not an item.
    var requestItems: [RequestItem] {
        get throws { try items.map(RequestItem.init) }
    }

    /// Refuses texts that are not items, and members of a JSON body beside another body.
    func checkItems() throws {
        guard let member = try requestItems.first(where: \.isMember) else { return }
        let others = [
            ("--json", "--json has the whole body", !content.json.isEmpty), ("--form", "repeat the option: -F", !content.form.isEmpty),
            ("--data", "repeat the option: -d", !content.formData.isEmpty),
            ("--upload-file", "-T has the whole body", content.uploadFile != nil),
        ]
        guard let (option, hint, _) = others.first(where: \.2) else { return }
        let label = member.label
        throw ValidationError(
            "'\(label)' is a member of a JSON body, and does not go with \(option); \(hint)\(hint.hasOctetPrefix("repeat") ? " '\(label)'" : "")")
    }

    /// Refuses members of a JSON body where a query item is more likely to be meant.
    func checkMembers(of items: [RequestItem], method: String?) throws {
        guard let member = items.first(where: \.isMember) else { return }
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
