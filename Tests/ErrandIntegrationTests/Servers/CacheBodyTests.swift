#if SQLite && SWIFT_NIO
internal import Errand
internal import ErrandSQLite
internal import Foundation
internal import TestSupport
internal import Testing

/// Bodies of 16 MiB from nginx, stored on the disk while they are read.
///
/// nginx sends 20 MiB a second, because tests run without optimization: the checksum of such a body alone takes 0.1 s. `Benchmarks/cache`
/// measures optimized code at the speed of loopback, and at 100 MiB a second.
///
/// `ERRAND_CACHE_BODIES` is the number of bodies, such as 100. Without it, the test is skipped.
@Suite(
    .serialized, .timeLimit(.minutes(10)), .enabled(if: NginxServer.isHere, "\(NginxServer.missing)"),
    .enabled(
        if: ProcessInfo.processInfo.environment["ERRAND_CACHE_BODIES"] != nil,
        "the times need an idle machine: set ERRAND_CACHE_BODIES"))
struct CacheBodyTests {
    private static let bodyBytes = 16 << 20
    private static let count = ProcessInfo.processInfo.environment["ERRAND_CACHE_BODIES"].flatMap { Int($0) } ?? 10

    @Test func aLimitedBodyIsStoredWithoutDelay() async throws {
        let times = try await measure(limit: "20m")
        #expect(times.stored == Self.count, "\(times.stored) of \(Self.count) bodies were stored")
        #expect(times.added <= times.plain / 20, "the store adds \(times.added) to \(times.plain)")
    }

    private struct Times {
        /// The number of bodies that the store has after the last byte.
        var stored = 0
        /// The median time of a body without the cache.
        var plain = Duration.zero
        /// The difference of the medians with and without the cache.
        var added = Duration.zero
    }

    /// Reads bodies with and without the cache, by turns.
    private func measure(limit: String) async throws -> Times {
        let folder = try TestFolder("cache-bodies")
        let port = try LoopbackPorts.free(1)[0]
        let server = try start(in: folder, port: port, limit: limit)
        defer { server.terminate() }
        return try await withNIO { transport in
            let store = SQLiteCacheStore(inFolder: folder.file("store"))
            let plain = HTTPStack(transport)
            let cached = plain.cache(in: store)
            func request(_ query: String) throws -> Request { try Request(.get, url: "http://127.0.0.1:\(port)/body?\(query)") }
            try await poll("the start of nginx", upTo: .seconds(20), value: { (try? await read(request("up"), plain)) != nil }) { $0 }
            var (times, withCache, without) = (Times(), [Duration](), [Duration]())
            for number in 0..<Self.count {
                without.append(try await read(request("\(number)"), plain))
                withCache.append(try await read(request("\(number)"), cached))
                // The last bytes may still be in the queue of the store.
                let isStored = try? await poll("the entry", upTo: .seconds(1), value: { try await store.contains(request("\(number)")) }) {
                    $0
                }
                if isStored == true { times.stored += 1 }
            }
            without.sort()
            withCache.sort()
            times.plain = without[Self.count / 2]
            times.added = withCache[Self.count / 2] - times.plain
            print(
                "\(limit): \(times.stored) of \(Self.count) stored; without the cache \(times.plain), with the cache",
                "\(withCache[Self.count / 2]) (at most \(withCache[Self.count - 1]), and without at most \(without[Self.count - 1]))")
            return times
        }
    }

    private func read(_ request: Request, _ stack: HTTPStack) async throws -> Duration {
        let start = ContinuousClock.now
        let response = try await stack.send(request)
        var count = 0
        for try await chunk in response.body { count += chunk.count }
        #expect(count == Self.bodyBytes)
        return start.duration(to: .now)
    }

    private func start(in folder: TestFolder, port: Int, limit: String) throws -> Process {
        _ = try folder.write(Data(repeating: 7, count: Self.bodyBytes), to: "body")
        let path = folder.file("nginx.conf")
        _ = try folder.write(
            """
            daemon off;
            master_process off;
            error_log stderr crit;
            pid \(folder.file("nginx.pid"));
            events {}
            http {
                access_log off;
                sendfile on;
                client_body_temp_path \(folder.file("client"));
                proxy_temp_path \(folder.file("proxy"));
                fastcgi_temp_path \(folder.file("fastcgi"));
                uwsgi_temp_path \(folder.file("uwsgi"));
                scgi_temp_path \(folder.file("scgi"));
                server {
                    listen 127.0.0.1:\(port);
                    root \(folder.path);
                    add_header Cache-Control max-age=600;
                    limit_rate \(limit);
                }
            }
            """, to: "nginx.conf")
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["nginx", "-e", "stderr", "-c", path]
        process.environment = ["PATH": "/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin"]
        (process.standardInput, process.standardOutput, process.standardError) = (
            FileHandle.nullDevice, FileHandle.nullDevice, FileHandle.nullDevice
        )
        try process.run()
        return process
    }
}
#endif
