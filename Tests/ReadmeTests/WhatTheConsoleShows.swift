import Errand
import Logging

// The samples of the article "What the console shows", unchanged: `ReadmeTests` compares each sample with this file.

func hidingCards(_ stack: HTTPStack) -> HTTPStack {
    let names = TransformMiddleware.request("sensitive names") { request in
        request.options.sensitivity.formUnion(Sensitivity(fields: [], queryNames: ["card", "pin"]))
    }
    return stack.wrapped(by: names, outside: .log)
}

// swift-format-ignore
func logged(_ transport: some HTTPSender, to logger: Logger, clock: any Clock<Duration>) -> HTTPStack {
    transport
        .log(to: logger, curl: true, clock: clock)
        .number()
        .server("https://api.example")
}

func numbered(_ signedIn: HTTPStack, _ open: HTTPStack) -> (APIClient, APIClient) {
    let numbers = NumberMiddleware()
    return (APIClient(signedIn.wrapped(by: numbers)), APIClient(open.wrapped(by: numbers)))
}

func profiled(_ transport: some HTTPSender) -> HTTPStack { transport.timeout(.seconds(30)).profile() }

func measured(_ transport: some HTTPSender) -> HTTPStack { transport.metrics().trace().redirect().retry().traceCall() }
