#if SWIFT_NIO
import ErrandCore
import Foundation
import Synchronization

/// A body of the numbers 0, 1, 2 … in 8 bytes each, one number for each piece, so that a piece of another attempt is seen
/// wherever it lands.
final class NumberedPieces: BodySource {
    private let position = Atomic<UInt64>(0)
    private let count: UInt64

    init(_ count: Int) { self.count = UInt64(count) }

    /// Returns a body that can be opened again.
    static func body(_ count: Int, hasLength: Bool) -> RequestBody {
        .stream(length: hasLength ? Int64(8 * count) : nil) { _ in NumberedPieces(count) }
    }

    /// Returns the whole body.
    static func bytes(_ count: Int) -> [UInt8] { (0..<UInt64(count)).flatMap(piece) }

    private static func piece(_ number: UInt64) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) } }

    func next() async throws -> Data? {
        let number = position.wrappingAdd(1, ordering: .relaxed).oldValue
        return number < count ? Data(Self.piece(number)) : nil
    }

    func abandon() {}
}
#endif
