import Errand
import ErrandNIO

/// The stacks of the transfers of a command, and the files that all these stacks share.
struct TransferStacks {
    private let list: HSTSFile?
    private let cookies: CookieFiles?
    private let wait: NetworkWait?
    private var tokens: TokenSource?

    /// Reads the files.
    init(_ arguments: RequestArguments) async {
        (list, cookies, wait) = (HSTSFile(arguments), CookieFiles(arguments), NetworkWait(arguments))
        await list?.load()
        cookies?.load()
    }

    /// Makes a stack with the layers of the arguments, but without a timeout and without retries: these options apply to a whole transfer,
    /// and not to each of its requests.
    mutating func stack(
        for arguments: RequestArguments, _ authentication: Authentication, on transport: NIOTransport
    ) throws -> HTTPStack {
        var arguments = arguments
        (arguments.connection.retryCount, arguments.connection.retryDelay, arguments.connection.maxTime) = (nil, nil, nil)
        let narration = Narration(isShown: arguments.shown.verbose, saysRetries: false, waitNotice: wait?.notice) { number in
            transport.openConnections.first { $0.number == number }?.httpVersion
        }
        let (stack, source) = try RequestRun(arguments, subcommand: "get").layers(
            on: HTTPStack(transport), authentication, wait, narration, nil, list?.hosts, cookies?.jar)
        if let source { tokens = source }
        return stack.transformRequest { $0.options.eventSink = narration }
    }

    /// Saves refreshed tokens, and writes the files, even if the task is cancelled.
    func finish() async {
        await tokens?.finish(within: .seconds(5))
        let (list, cookies) = (list, cookies)
        // A signal cancels this task, but not the new task.
        await Task {
            await list?.save()
            await cookies?.save()
        }.value
    }
}
