import CAllocations
import ErrandAuth
import ErrandCore
import Foundation
import SeamCases

/// The jar, the public suffixes, and libpsl: one case, one line of figures. `Benchmarks/cookies` starts the program.
///
///     CookieBenchmarks errand none|sites|site|suffix|first COUNT
///     CookieBenchmarks libpsl suffix|first COUNT
@main
struct CookieBenchmarks {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 4, let count = Int(arguments[3]), count > 0 else { fail("usage: CookieBenchmarks PEER CASE COUNT") }
        switch (arguments[1], arguments[2]) {
        case ("errand", "none"): try await measure(count) { try await $0.sendWithoutCookie() }
        case ("errand", "sites"): try await measure(count) { try await $0.sendOfManySites() }
        case ("errand", "site"): try await measure(count) { try await $0.sendOfOneSite() }
        case ("errand", "suffix"):
            measure(count, warmup: count / 5) { for host in hosts { check(PublicSuffixes.registrableDomain(of: host) != nil) } }
        case ("errand", "first"): measure(1) { check(PublicSuffixes.registrableDomain(of: "www.example.co.uk")?.utf8.count == 13) }
        case ("libpsl", "suffix"):
            let (library, names) = (try Libpsl(), hosts.map { Array($0.utf8CString) })
            let rules = library.rules()
            measure(count, warmup: count / 5) {
                for name in names { name.withUnsafeBufferPointer { check(library.registrableDomain(rules, $0.baseAddress) != nil) } }
            }
        case ("libpsl", "first"):
            let library = try Libpsl()
            measure(1) { check(library.registrableDomain(library.rules(), "www.example.co.uk") != nil) }
        default: fail("\(arguments[1]) has no case \(arguments[2])")
        }
    }

    /// Hosts below suffixes of one to three labels. Two suffixes are of companies, one is below a wildcard, one is in no list.
    private static let hosts = [
        "www.example.com", "api.eu.example.org", "www.example.co.uk", "joe.github.io", "files.bucket.s3.amazonaws.com",
        "www.city.example.kawasaki.jp", "shop.xn--55qx5d.cn", "localhost.example.test",
    ]

    /// Measures what a jar adds to the cost of a request: the difference to the same request without a jar.
    @concurrent private static func measure(_ count: Int, _ call: @Sendable (CookieCalls) async throws -> Void) async throws {
        let calls = try CookieCalls()
        func run(_ count: Int, _ call: @Sendable (CookieCalls) async throws -> Void) async throws -> Figures {
            let start = Figures.now()
            for _ in 0..<count { try await call(calls) }
            return Figures.now() - start
        }
        for warmup in [true, false] {
            let number = warmup ? count / 5 : count
            let bare = try await run(number) { try await $0.sendWithoutJar() }
            let whole = try await run(number, call)
            if !warmup { (whole - bare).show(count) }
        }
    }

    /// Measures calls, after calls that warm up.
    private static func measure(_ count: Int, warmup: Int = 0, _ call: () -> Void) {
        for _ in 0..<warmup { call() }
        let start = Figures.now()
        for _ in 0..<count { call() }
        (Figures.now() - start).show(count)
    }

    private static func check(_ isExpected: Bool) {
        if !isExpected { fail("the registrable domain of a host is wrong") }
    }

    private static func fail(_ text: String) -> Never {
        print(text)
        exit(1)
    }
}

/// Processor time and allocations of this process. Other work of the machine has little effect on the processor time.
private struct Figures {
    var nanoseconds: Double
    var allocations: Int

    static func now() -> Figures {
        let allocations = errand_allocation_count()
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Figures(nanoseconds: Double(time.tv_sec) * 1e9 + Double(time.tv_nsec), allocations: allocations)
    }

    static func - (first: Figures, second: Figures) -> Figures {
        Figures(nanoseconds: first.nanoseconds - second.nanoseconds, allocations: first.allocations - second.allocations)
    }

    /// Prints the figures of one call.
    func show(_ count: Int) {
        print("cpu_ns=\(nanoseconds / Double(count)) allocations=\(Double(allocations) / Double(count))")
    }
}

/// The C library libpsl, loaded at run time, so that the program also runs without the library.
private struct Libpsl {
    /// `psl_builtin`: returns the rules that are a part of the library.
    let rules: @convention(c) () -> OpaquePointer?
    /// `psl_registrable_domain`: returns a part of the host.
    let registrableDomain: @convention(c) (OpaquePointer?, UnsafePointer<CChar>?) -> UnsafePointer<CChar>?

    struct Missing: Error, CustomStringConvertible {
        let description: String
    }

    init() throws {
        guard let library = dlopen("libpsl.so.5", RTLD_NOW), let rules = dlsym(library, "psl_builtin"),
            let domain = dlsym(library, "psl_registrable_domain")
        else { throw Missing(description: dlerror().map { String(cString: $0) } ?? "libpsl can't be loaded") }
        self.rules = unsafeBitCast(rules, to: (@convention(c) () -> OpaquePointer?).self)
        registrableDomain = unsafeBitCast(
            domain, to: (@convention(c) (OpaquePointer?, UnsafePointer<CChar>?) -> UnsafePointer<CChar>?).self)
    }
}
