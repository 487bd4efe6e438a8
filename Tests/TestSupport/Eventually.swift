public import Testing

/// Returns when `condition` holds, or reports that it did not come to hold. For what gives no signal.
public func eventually(_ condition: () -> Bool, sourceLocation: SourceLocation = #_sourceLocation) async {
    do {
        try await poll("a condition", upTo: .seconds(30), value: condition) { $0 }
    } catch is CancellationError {
    } catch {
        Issue.record(error, sourceLocation: sourceLocation)
    }
}
