#if canImport(Glibc) || canImport(Musl)
internal import Foundation
internal import Synchronization

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// A network namespace with two joined interfaces, `v0` and `v1`. Linux alone.
///
/// The namespace belongs to a ``NamespaceShell``.
public final class NetworkNamespace: Sendable {
    /// Why there are no such namespaces on this machine; `nil` if there are.
    public static let missing: String? = {
        do {
            let namespace = try NetworkNamespace()
            defer { namespace.end() }
            try namespace.within {}
            return nil
        } catch {
            return "no network namespace: \(error)"
        }
    }()

    private let shell: NamespaceShell

    private static let script = """
        ip link set lo up && ip link add v0 type veth peer name v1 && echo done 0 || exit 1
        while read -r line; do eval "$line" >/dev/null 2>&1; echo done $?; done
        """

    /// Creates a namespace. Both interfaces are down, and have no address.
    ///
    /// - Throws: an error with the kernel's reason if that is not possible here.
    public init() throws {
        shell = try NamespaceShell("-rn", Self.script)
        try shell.wait(for: "the interfaces", expecting: "done 0")
    }

    /// Removes the namespace.
    public func end() { shell.end() }

    /// Runs commands of the shell in the namespace, such as `ip link set v0 up`.
    ///
    /// - Throws: an error if the last command of the line fails.
    public func run(_ commands: String) throws { try shell.run(commands, expecting: "done 0") }

    /// Returns the result of `body`, which runs on a thread of the namespace. Sockets that `body` opens belong to the namespace.
    public func within<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) throws -> Result {
        let path = shell.procPath + "/ns/net"
        let (end, ended) = (Box<Result>(), DispatchSemaphore(value: 0))
        Thread {
            end.result.withLock { $0 = Swift.Result { try Self.enter(path, body) } }
            ended.signal()
        }.start()
        ended.wait()
        guard let result = end.result.withLock({ $0 }) else { throw SystemError("setns") }
        return try result.get()
    }

    private final class Box<Value: Sendable>: Sendable {
        let result = Mutex<Swift.Result<Value, any Error>?>(nil)
    }

    private static func enter<Result>(_ path: String, _ body: () throws -> Result) throws -> Result {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError("open \(path)") }
        defer { close(descriptor) }
        // Swift's overlay of the C library has no `setns`.
        guard let address = dlsym(nil, "setns") else { throw SystemError("dlsym") }
        let setns = unsafeBitCast(address, to: (@convention(c) (Int32, Int32) -> Int32).self)
        guard setns(descriptor, 0) == 0 else { throw SystemError("setns") }
        return try body()
    }
}
#endif
