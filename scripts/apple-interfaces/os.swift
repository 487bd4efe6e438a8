// What the code of this repository uses of Apple's module `os`. Each declaration names the page of Apple's documentation that it was read
// from, in a stored copy, on the date beside the address. See scripts/check-apple.

// https://developer.apple.com/documentation/os/oslogtype (read on 2026-11-27). The page lists the five names.
// From memory: the type conforms to Sendable.
public struct OSLogType: Sendable {
    public static let `default` = OSLogType()
    public static let info = OSLogType()
    // https://developer.apple.com/documentation/os/oslogtype/debug (read on 2026-11-27)
    public static let debug = OSLogType()
    public static let error = OSLogType()
    public static let fault = OSLogType()
}

// https://developer.apple.com/documentation/os/oslogprivacy (read on 2026-11-27)
public struct OSLogPrivacy {
    // From memory. The page of `appendInterpolation` has `.auto` as its default.
    public static var auto: OSLogPrivacy { OSLogPrivacy() }
    // https://developer.apple.com/documentation/os/oslogprivacy/public (read on 2026-11-27)
    public static var `public`: OSLogPrivacy { OSLogPrivacy() }
    // https://developer.apple.com/documentation/os/oslogprivacy/private (read on 2026-11-27)
    public static var `private`: OSLogPrivacy { OSLogPrivacy() }
}

// From memory. The page of `appendInterpolation` has this type and `.none` as its default.
public struct OSLogStringAlignment {
    public static var none: OSLogStringAlignment { OSLogStringAlignment() }
}

// https://developer.apple.com/documentation/os/osloginterpolation (read on 2026-11-27)
public struct OSLogInterpolation: StringInterpolationProtocol {
    // From memory: what the protocol requires.
    public init(literalCapacity: Int, interpolationCount: Int) {}
    public mutating func appendLiteral(_ literal: String) {}
    // https://developer.apple.com/documentation/os/osloginterpolation/appendinterpolation(_:align:privacy:)-6tazr (read on 2026-11-27)
    public mutating func appendInterpolation(
        _ argumentString: @autoclosure @escaping () -> String, align: OSLogStringAlignment = .none, privacy: OSLogPrivacy = .auto
    ) {}
}

// https://developer.apple.com/documentation/os/oslogmessage (read on 2026-11-27)
// From memory: the conformance, and that the compiler refuses a message that is not a literal. Here, each value of the type is accepted.
public struct OSLogMessage: ExpressibleByStringInterpolation {
    public init(stringLiteral value: String) {}
    public init(stringInterpolation: OSLogInterpolation) {}
}

// https://developer.apple.com/documentation/os/logger (read on 2026-11-27)
// From memory: the type conforms to Sendable.
public struct Logger: @unchecked Sendable {
    // https://developer.apple.com/documentation/os/logger/init(subsystem:category:) (read on 2026-11-27)
    public init(subsystem: String, category: String) {}
    // https://developer.apple.com/documentation/os/logger/log(level:_:) (read on 2026-11-27)
    public func log(level: OSLogType, _ message: OSLogMessage) {}
}
