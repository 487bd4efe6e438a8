public import Testing

/// Returns when `condition` is true, or records an issue after 30 s. For conditions without a notification. An error of `condition` is an
/// issue too.
public func eventually(_ condition: () throws -> Bool, sourceLocation: SourceLocation = #_sourceLocation) async {
    do {
        try await poll("a condition", upTo: .seconds(30), value: condition) { $0 }
    } catch is CancellationError {
    } catch {
        Issue.record(error, sourceLocation: sourceLocation)
    }
}
