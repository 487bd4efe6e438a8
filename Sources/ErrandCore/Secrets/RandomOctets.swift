/// Returns random octets of the system's generator, for keys, nonces and identifiers that nobody may guess.
@Sendable package func randomOctets(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: .min ... .max) } }
