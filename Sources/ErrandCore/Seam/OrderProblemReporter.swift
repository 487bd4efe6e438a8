/// A middleware that reports the order problems of its stack, such as `log`. If no middleware of the stack reports the problems, a debug
/// build writes the problems to standard error.
///
/// ```swift
/// struct OrderLogMiddleware: OrderProblemReporter {
///     let write: @Sendable (String) -> Void
///
///     func reportOrderProblems(_ problems: [String]) { for problem in problems { write("order: \(problem)") } }
///
///     func send(_ request: Request, to next: some HTTPSender) async throws -> Response { try await next.send(request) }
/// }
/// ```
///
/// If several layers of a stack conform to this protocol, only the outermost of these layers reports.
public protocol OrderProblemReporter: HTTPMiddleware {
    /// Reports the order problems of the stack. A problem never makes a request fail.
    ///
    /// The stack calls this function at its first request, before the layers get the request. The function must not block. The function is
    /// called again only if a derived stack has other problems: see ``HTTPStack/ignoringOrderProblems()``.
    ///
    /// - Parameter problems: the problems that were not reported before, each as a sentence, as in ``HTTPStack/orderProblems``. Never
    ///   empty.
    func reportOrderProblems(_ problems: [String])
}

extension HTTPStack {
    /// Returns the line of a report: the problem, and how to hide the line.
    package static func orderLine(for problem: String) -> String {
        "order: \(problem). To hide this line, add .ignoringOrderProblems() to the stack."
    }
}

extension LayerList {
    private var reporter: (any OrderProblemReporter)? {
        for entry in entries { if let reporter = entry.middleware as? any OrderProblemReporter { return reporter } }
        return base.stack?.list.reporter
    }

    /// Reports the order problems of a stack that were not reported before.
    ///
    /// - Parameter writeLine: writes a line to standard error; in release builds, does nothing.
    @inline(never) func reportOrderProblems(writeLine: (String) -> Void) {
        let problems = claimOrderReport()
        guard !problems.isEmpty else { return }
        if let reporter { return reporter.reportOrderProblems(problems) }
        for problem in problems { writeLine("errand: \(HTTPStack.orderLine(for: problem))") }
    }
}
