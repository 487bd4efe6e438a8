internal import ErrandCore
internal import Testing

@testable internal import ErrandURLSession

/// All orders of the callbacks and calls of a task.
@Suite struct MachineOrderTests {
    enum Step: CaseIterable { case response, data, suspend, cancel, complete, metrics, redirect }

    /// The result of an exchange, derived from the order of the steps alone.
    struct Expected: Equatable {
        var fault: String?
        var hasHead = false
        var bytes = 0
        var hasTimings = false
        var isCancelledAfterTheEnd = false
    }

    /// All different orders of eight steps, two of which are equal.
    static let orders: [[Step]] = {
        var orders: [[Step]] = []
        func extend(_ order: [Step], _ rest: [Step]) {
            if rest.isEmpty { return orders.append(order) }
            for step in Step.allCases where rest.contains(step) {
                var rest = rest
                if let index = rest.firstIndex(of: step) { rest.remove(at: index) }
                extend(order + [step], rest)
            }
        }
        extend([], Step.allCases + [.data])
        return orders
    }()

    static func expected(_ order: [Step], error: Bool) -> Expected {
        var expected = Expected()
        var (hasRedirect, isOver) = (false, false)
        for step in order {
            switch step {
            case .cancel where isOver: expected.isCancelledAfterTheEnd = true
            case _ where isOver: break
            case .response: expected.hasHead = true
            case .data where expected.hasHead: expected.bytes += 4
            case .data: (expected.fault, isOver) = ("chunkBeforeHead", true)
            case .suspend: break
            case .cancel: (expected.fault, isOver) = ("cancelled", true)
            case .metrics: expected.hasTimings = true
            case .redirect: hasRedirect = true
            case .complete:
                isOver = true
                if error {
                    expected.fault = "session"
                } else if !expected.hasHead {
                    if hasRedirect { expected.hasHead = true } else { expected.fault = "noResponse" }
                }
            }
        }
        return expected
    }

    static func run(_ order: [Step], error: Bool, hasReader: Bool, canSuspend: Bool) -> ScriptedTask {
        var task = ScriptedTask { $0.canSuspend = canSuspend }
        task.apply { $0.begin(1) }
        for step in order {
            switch step {
            case .response:
                task.respond()
                if hasReader { _ = task.read(orWait: 2) }
            case .data: task.apply { $0.receive(Data(count: 4)) }
            case .suspend: task.adjustFlow()
            case .cancel: task.apply { $0.cancel() }
            case .complete: task.apply { $0.complete(error ? .unknown : nil) }
            case .metrics:
                task.apply { machine in
                    machine.collect(ExchangeEvent.Timings())
                    return []
                }
            case .redirect:
                task.apply { machine in
                    machine.redirect(ReceivedHead(HTTPResponse(status: .found), to: .get))
                    return []
                }
            }
        }
        return task
    }

    @Test func thereAreAllOrders() { #expect(Self.orders.count == 20_160 && Set(Self.orders).count == 20_160) }

    @Test(arguments: [false, true], [false, true])
    func everyOrderEndsOnce(error: Bool, hasReader: Bool) {
        var wrong: [String] = []
        for order in Self.orders {
            for canSuspend in hasReader ? [true] : [false, true] {
                let violations = Self.violations(order, error: error, hasReader: hasReader, canSuspend: canSuspend)
                wrong += violations.map { "\(order): \($0)" }
            }
        }
        #expect(wrong.isEmpty, "\(wrong.count): \(wrong.prefix(3))")
    }

    private static func violations(_ order: [Step], error: Bool, hasReader: Bool, canSuspend: Bool) -> [String] {
        var task = run(order, error: error, hasReader: hasReader, canSuspend: canSuspend)
        let expected = expected(order, error: error)
        var wrong: [String] = []
        func check(_ condition: Bool, _ text: String) { if !condition { wrong.append(text) } }

        check(task.heads == [1: 1], "the caller was resumed \(task.heads) times")
        check(task.count("deliverHead") == (expected.hasHead ? 1 : 0), "the head")
        check(["endLifetime", "forget", "stopUpload"].allSatisfy { task.count($0) == 1 }, "the end of the exchange: \(task.log)")
        check(task.count("end") + task.count("end failed") == 1, "the event of the end: \(task.log)")
        check(task.failure?.fault == expected.fault, "the fault")
        let mustCancel = expected.fault == "cancelled" || expected.fault == "chunkBeforeHead"
        check(task.count("cancelTask") == (mustCancel ? 1 : 0), "the task was cancelled \(task.count("cancelTask")) times")
        check(task.count("timings") == (expected.hasTimings ? 1 : 0), "the timings")
        if let index = task.log.firstIndex(of: "timings") { check(task.log[index + 1].hasPrefix("end"), "an event after the timings") }
        // A reader waits for the first chunk, if it began to read before the end.
        let isAwaited = hasReader && order.firstIndex(of: .response).map { index in !order[..<index].contains(.cancel) } ?? false
        check(task.readers.values.allSatisfy { $0 == 1 } && task.readers.count <= (isAwaited ? 1 : 0), "the reader: \(task.readers)")

        // The reader reads the rest.
        var last: UnreadBody<Int>.Read?
        repeat { last = task.read() } while last?.isChunk == true
        let dropped = expected.fault == "cancelled" || expected.isCancelledAfterTheEnd
        check(dropped ? task.deliveredBytes <= expected.bytes : task.deliveredBytes == expected.bytes, "\(task.deliveredBytes) bytes")
        switch last {
        case .success?: check(expected.fault == nil, "a failure looks like an end")
        case .failure?: check(expected.fault != nil || dropped, "an end looks like a failure")
        case nil: check(false, "the reader waits after the end")
        }
        check(canSuspend || task.flowChanges == 0, "a task that can't be suspended was suspended")
        check(!task.machine.isHeldBack, "the task is held back after the end")
        return wrong
    }
}
