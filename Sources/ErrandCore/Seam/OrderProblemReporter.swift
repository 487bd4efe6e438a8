/// A middleware that reports the order problems of its stack. Without such a middleware, a debug build writes the problems to
/// standard error.
package protocol OrderProblemReporter: HTTPMiddleware {
    /// Reports the problems at the first request, once for a stack and all stacks that are derived from it.
    func report(orderProblems: [String])
}

extension LayerList {
    private var reporter: (any OrderProblemReporter)? {
        for entry in entries { if let reporter = entry.middleware as? any OrderProblemReporter { return reporter } }
        return base.stack?.list.reporter
    }

    /// Reports the order problems of a stack that were not reported before.
    ///
    /// - Parameter writeLine: writes a line to standard error. Release builds report nothing.
    @inline(never) func reportOrderProblems(writeLine: (String) -> Void) {
        let problems = claimOrderReport()
        guard !problems.isEmpty else { return }
        if let reporter { return reporter.report(orderProblems: problems) }
        for problem in problems { writeLine("errand: order: \(problem). To hide this line, add .ignoringOrderProblems() to the stack.") }
    }
}
