import SeamCases

extension StackBenchmarks {
    /// Measures what a jar with 3,000 cookies adds to the cost of a request.
    ///
    /// - Returns: the cost of a request for which the jar has no cookie.
    static func measureCookies() async throws -> Figure {
        print("\ncookies, past a jar with 3,000 cookies\n")
        let cookies = try CookieCalls()
        let base = try await measure("without a jar") { try await cookies.sendWithoutJar() }
        let none = try await measure("  + no cookie for the request") { try await cookies.sendWithoutCookie() }
        _ = try await measure("  + a cookie, one of 3,000 sites") { try await cookies.sendOfManySites() }
        _ = try await measure("  + a cookie, one of 3,000 hosts of a site") { try await cookies.sendOfOneSite() }
        return none - base
    }
}
