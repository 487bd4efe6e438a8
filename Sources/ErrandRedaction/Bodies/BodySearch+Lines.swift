internal import ErrandCore
internal import ErrandFormats

extension BodySearch {
    /// Examines JSON texts that each begin with a record separator ([RFC 7464](https://www.rfc-editor.org/rfc/rfc7464)), and may contain
    /// line endings.
    func records(_ bytes: [UInt8], depth: Depth) -> Findings {
        var found = Findings()
        for record in bytes.split(separator: 0x1E) {
            found.add(jsonOrHidden(Array(record), isBroken: true, depth: depth), at: record.startIndex)
        }
        return found
    }

    /// Examines a stream of events. The data lines of an event are one text, which is hidden if it is not JSON. Comments and unknown fields
    /// are hidden.
    ///
    /// - Parameter isCut: whether the last line may be incomplete.
    func events(_ bytes: [UInt8], isCut: Bool, depth: Depth) -> Findings {
        var found = Findings()
        var others = Findings()
        var lines: [Range<Int>] = []  // the data of one event
        var start = 0
        while start < bytes.count {
            let end = bytes[start...].firstIndex { $0 == 0x0A || $0 == 0x0D } ?? bytes.count
            let line = bytes[start..<end]
            if line.isEmpty {
                found.add(event(lines, of: bytes, depth: depth))
                lines = []
            } else if line.starts(with: "data:".utf8) {
                lines.append((bytes[(start + 5)..<end].firstIndex { $0 != 0x20 } ?? end)..<end)
            } else {
                hideOther(line, of: bytes, isOpen: isCut && end == bytes.count, in: &others)
            }
            start = end + (bytes[end...].starts(with: [0x0D, 0x0A]) ? 2 : 1)
        }
        found.add(event(lines, of: bytes, depth: depth))
        found.add(others)
        // One edit replaces a secret that extends over several lines. If other lines are between these lines, the edits of the other lines
        // are dropped.
        var last = 0
        found.edits = found.edits.sorted { $0.range.lowerBound < $1.range.lowerBound }.filter { edit in
            defer { last = max(last, edit.range.upperBound) }
            return edit.range.lowerBound >= last
        }
        return found
    }

    /// Examines the data lines of one event.
    private func event(_ lines: [Range<Int>], of bytes: [UInt8], depth: Depth) -> Findings {
        var joined: [UInt8] = []
        var starts: [Int] = []
        for line in lines {
            if !starts.isEmpty { joined.append(0x0A) }
            starts.append(joined.count)
            joined += bytes[line]
        }
        var line = 0
        func position(_ offset: Int, isEnd: Bool) -> Int {
            while line + 1 < starts.count, isEnd ? starts[line + 1] < offset : starts[line + 1] <= offset { line += 1 }
            return min(lines[line].lowerBound + offset - starts[line], lines[line].upperBound)
        }
        var found = jsonOrHidden(joined, isBroken: true, depth: depth)
        found.edits = found.edits.map { edit in
            let lower = position(edit.range.lowerBound, isEnd: false)
            return ByteEdit(lower..<max(lower, position(edit.range.upperBound, isEnd: true)), edit.replacement)
        }
        return found
    }

    /// Hides the value of a line that is not data, unless the value is the name or the position of an event.
    ///
    /// - Parameter isOpen: whether the line may be incomplete.
    private func hideOther(_ line: ArraySlice<UInt8>, of bytes: [UInt8], isOpen: Bool, in found: inout Findings) {
        let colon = line.firstIndex(of: UInt8(ascii: ":"))
        let name = line[..<(colon ?? line.endIndex)]
        let isKnown = ["event", "id", "retry"].contains { $0.utf8.elementsEqual(name) }
        let mention = SecretMention(sensitivity: sensitivity, isWithin: false)
        if isKnown, !isOpen, !mention.isIn(Array(line)) { return }
        let start = colon.map { isKnown || name.isEmpty ? $0 + 1 : line.startIndex } ?? line.startIndex
        found.hide(start..<line.endIndex, of: bytes)
    }
}
