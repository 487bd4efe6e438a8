#if SWIFT_NIO
internal import NIOCore

/// One timer for many due times. Exchanges with a deadline share this timer, which is set again only for an earlier time.
struct Alarm {
    private var scheduled: Scheduled<Void>?
    private var due = NIODeadline.distantFuture

    /// Makes sure that `ring` is called at `time` or earlier. `ring` must call ``rang()`` and set the alarm again.
    mutating func set(_ time: NIODeadline, on loop: any EventLoop, _ ring: @escaping @Sendable () -> Void) {
        if scheduled != nil, due <= time { return }
        scheduled?.cancel()
        due = time
        scheduled = loop.scheduleTask(deadline: time, ring)
    }

    mutating func rang() { scheduled = nil }

    mutating func cancel() {
        scheduled?.cancel()
        scheduled = nil
    }
}
#endif
