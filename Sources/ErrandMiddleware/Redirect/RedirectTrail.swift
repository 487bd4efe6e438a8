internal import ErrandCore

/// The redirects of one call. The earlier redirects and the policy decide about the next redirect. ``RedirectMiddleware`` performs the
/// decision.
struct RedirectTrail {
    /// The step after a response.
    enum Step {
        /// Return the response.
        case returnResponse
        /// Send a request.
        case follow(Hop)
    }

    /// The next request.
    struct Hop {
        let request: Request
        /// The decision for observers, without secrets.
        let event: String
        /// The change of the redirect's target from http to https; `nil` if the target was not changed.
        let change: RedirectRecord?
        /// Whether a server may have processed the redirected request. If a server has processed the request, sending the request again
        /// repeats the work.
        let mayBeProcessed: Bool
    }

    /// The parts of a request by which loops are found.
    private struct Visit: Hashable {
        let method: HTTPRequest.Method
        let url: HTTPURL
    }

    /// The redirects that were followed, and the changes that inner layers have recorded, in order.
    private(set) var records: [RedirectRecord] = []
    /// The number of redirects that were followed.
    private var hops = 0
    /// Whether a redirect has led to another origin.
    private var hasCrossedOrigin = false
    /// The number of times that each request was sent. A response that sets a cookie, or a change by the app, resets all numbers.
    private var visits: [Visit: Int] = [:]

    /// Adds the records of inner layers, such as changes from http to https, to the records of the call.
    mutating func add(_ inner: [RedirectRecord]) { records += inner }

    /// Returns `error`. If `error` is a ``RedirectError``, the returned error also has the redirects of the call.
    func adding(to error: any Error) -> any Error {
        guard var refused = error as? RedirectError else { return error }
        refused.redirects = records
        return refused
    }

    /// Decides on the step after a response, and records a redirect that is followed.
    ///
    /// - Throws: ``RedirectError`` for a redirect that can't be followed; the error that the app's own decision chooses;
    ///   ``/ErrandCore/InvalidURLError`` if the request of the app's own decision has no valid URL.
    mutating func step(after head: HTTPResponse, to request: Request, by policy: RedirectPolicy) throws -> Step {
        guard case .follow(let standard) = try policy.decision(for: head, to: request, hops: hops), let from = request.url,
            let to = standard.url
        else { return .returnResponse }
        let choice = policy.decider?.decide(.init(response: head, from: from, to: to, next: standard, history: records)) ?? .standard
        var (next, target, kept) = (standard, to, RedirectRecord.KeptCredentials?.none)
        var isChanged = false
        switch choice.kind {
        case .standard: break
        case .stop: return .returnResponse
        case .fail(let error): throw error
        case .follow(let chosen, let reason):
            isChanged = true
            next = chosen.continuingCall(of: standard)
            target = try Self.target(of: next)
            if from.isSecure, !target.isSecure, !policy.allowsDowngrade { throw RedirectError(.downgrade, request: request, head: head) }
            if reason != nil, !target.isSecure { throw RedirectError(.credentialsNeedHTTPS, request: request, head: head) }
            if hasCrossedOrigin || target.origin != from.origin {
                kept = reason.map { .init(origin: target.origin, reason: "\($0)") }
                if reason == nil { Self.removeSecrets(of: &next, unlessIn: standard) }
            }
        }
        let visit = Visit(method: next.method, url: target)
        if visits.isEmpty { visits[Visit(method: request.method, url: from)] = 1 }
        // The count of a request restarts after a cookie or a change by the app, because both may change the next response.
        if isChanged || head.headerFields.contains(.setCookie) { visits = [:] }
        guard visits[visit, default: 0] < RedirectPolicy.sameRequestLimit else {
            throw RedirectError(.loop, request: request, head: head)
        }
        visits[visit, default: 0] += 1
        hasCrossedOrigin = hasCrossedOrigin || target.origin != from.origin
        hops += 1
        let change = isChanged ? nil : next.httpsRecord
        let shown = change?.from ?? next.redactedURL
        records.append(
            RedirectRecord(
                status: head.status, method: request.method, from: request.redactedURL, to: shown,
                headerFields: next.options.sensitivity.redacted(head.headerFields), keptCredentials: kept))
        if let change { records.append(change) }
        let suffix = kept.map { ", keeping credentials for \($0.origin): \($0.reason)" } ?? (isChanged ? ", changed by the app" : "")
        return .follow(
            Hop(
                request: next, event: "\(head.status.code) to \(shown)\(suffix)", change: change,
                mayBeProcessed: !request.method.isSafe && (standard.method != request.method || next.method != request.method)))
    }

    /// Returns the URL of a request that the app has chosen.
    ///
    /// - Throws: ``/ErrandCore/InvalidURLError`` if the request has no valid URL.
    private static func target(of request: Request) throws(InvalidURLError) -> HTTPURL {
        if let url = request.url { return url }
        throw InvalidURLError(request.head.path ?? "", request.head.authority == nil ? .missingHost : .invalidTarget)
    }

    /// Removes the values that must not reach another origin, and the sensitive query items that the app has added.
    ///
    /// - Parameter standard: the request that the policy has prepared, whose query comes from the server.
    private static func removeSecrets(of request: inout Request, unlessIn standard: Request) {
        request.removeOriginBoundValues()
        let sensitivity = request.options.sensitivity
        let received = Set(standard.query.items)
        func mayCross(_ item: URLQuery.Item) -> Bool { !sensitivity.isSensitive(queryName: item.name) || received.contains(item) }
        let items = request.query.items
        if !items.allSatisfy(mayCross) { request.query = URLQuery(items.filter(mayCross)) }
    }
}
