import ErrandFormats

let structuredFieldTargets = [
    Target("structured-item", structuredItem), Target("structured-list", structuredList),
    Target("structured-dictionary", structuredDictionary),
]

private func structuredItem(_ input: inout Input) {
    guard let item = try? StructuredItem(parsing: input.text()) else { return }
    let written = try? item.serialized()
    expectEqual(written.flatMap { try? StructuredItem(parsing: $0) }, item, "an item changes when it is written and read")
}

private func structuredList(_ input: inout Input) {
    guard let list = try? StructuredList(parsing: input.text()), !list.members.isEmpty else { return }
    let written = (try? list.serialized()) ?? nil
    expectEqual(written.flatMap { try? StructuredList(parsing: $0) }, list, "a list changes when it is written and read")
}

private func structuredDictionary(_ input: inout Input) {
    guard let dictionary = try? StructuredDictionary(parsing: input.text()), !dictionary.isEmpty else { return }
    let written = (try? dictionary.serialized()) ?? nil
    let again = written.flatMap { try? StructuredDictionary(parsing: $0) }
    expectEqual(again, dictionary, "a dictionary changes when it is written and read")
    expectEqual(again?.map(\.key) ?? [], dictionary.map(\.key), "the order of the keys")
    for (key, value) in dictionary { expectEqual(dictionary[key], value, "a member that can't be found") }
}
