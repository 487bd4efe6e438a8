import Foundation
import Synchronization
import TestSupport

@testable import ErrandCore

/// The file calls of the system, which are counted. Some of the calls fail instead.
final class FileFaults: Sendable {
    /// The calls that fail.
    enum Selection: Sendable {
        case none
        /// One call: the call with this number, counted from 0.
        case one(Int)
        /// The call with this number, and all later calls of the same name.
        case all(Int)
    }

    /// The names of the calls, in order.
    let names = RecordingList<String>()
    private let selection: Selection
    private let code: Int32
    private let failing = Mutex<String?>(nil)

    init(_ selection: Selection = .none, code: Int32 = EIO) { (self.selection, self.code) = (selection, code) }

    /// The name of the call that has failed; `nil` if no call has failed.
    var failed: String? { failing.withLock { $0 } }

    /// The names of all file calls, also of calls that this double does not know.
    static var allNames: Set<String> { Set(Mirror(reflecting: FileCalls.system).children.compactMap(\.label)) }

    private func fault(_ name: String) -> Int32? {
        failing.withLock { failing in
            let number = names.all.count
            names.record(name)
            switch selection {
            case .none: return nil
            case .one(number): failing = name
            case .all(number): failing = name
            case .all where failing == name: break
            case .one, .all: return nil
            }
            return code
        }
    }

    var calls: FileCalls {
        let real = FileCalls.system
        var calls = real
        calls.write = { self.fault("write").map { -Int($0) } ?? real.write($0, $1) }
        calls.writeAt = { self.fault("writeAt").map { -Int($0) } ?? real.writeAt($0, $1, $2) }
        calls.read = { self.fault("read").map { -Int($0) } ?? real.read($0, $1, $2) }
        calls.truncate = { self.fault("truncate") ?? real.truncate($0, $1) }
        calls.synchronize = { self.fault("synchronize") ?? real.synchronize($0) }
        calls.rename = { self.fault("rename") ?? real.rename($0, $1) }
        calls.freeBytes = { self.fault("freeBytes").map { -Int64($0) } ?? real.freeBytes($0) }
        calls.open = { self.fault("open").map { -$0 } ?? real.open($0, $1, $2) }
        calls.status = { self.fault("status") ?? real.status($0, $1) }
        calls.setPermissions = { self.fault("setPermissions") ?? real.setPermissions($0, $1) }
        calls.lock = { self.fault("lock") ?? real.lock($0, $1) }
        calls.link = { self.fault("link") ?? real.link($0, $1) }
        calls.remove = { self.fault("remove") ?? real.remove($0) }
        return calls
    }
}
