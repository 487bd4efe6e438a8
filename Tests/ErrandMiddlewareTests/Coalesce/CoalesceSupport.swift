import Errand
import TestSupport
import Testing

extension CoalesceMiddleware {
    /// Returns when so many share an exchange.
    func callers(_ count: Int) async { await eventually { state.callers == count } }

    func isIdle() async { await eventually { state.has(0, callers: 0) } }
}

extension CoalesceMiddleware.State {
    func has(_ inFlight: Int, callers: Int) -> Bool { self.inFlight == inFlight && self.callers == callers }
}
