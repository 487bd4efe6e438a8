internal import ErrandCore
internal import Synchronization

/// The protocol classes of the stubs. A session gets only a class, and creates the protocol objects itself. Therefore, each stub has a
/// class of its own, and no session finds the stub of another session.
enum StubClasses {
    struct Registration: Sendable {
        let sender: any HTTPSender
        let deliversPieces: Bool
    }

    private static let registrations = Mutex<[ObjectIdentifier: Registration]>([:])

    /// Returns a new class for a registration. The class and the registration exist until the process ends.
    static func add(_ registration: Registration) -> StubURLProtocol.Type {
        registrations.withLock { registrations in
            let added = numbered(registrations.count)
            registrations[ObjectIdentifier(added)] = registration
            return added
        }
    }

    static func registration(of added: StubURLProtocol.Type) -> Registration? {
        registrations.withLock { $0[ObjectIdentifier(added)] }
    }

    /// Returns the class for a number. The class is generic, and its type parameter has the binary digits of the number.
    private static func numbered(_ number: Int) -> StubURLProtocol.Type {
        var digits: any TypeNumber.Type = LastDigit.self
        for digit in String(number, radix: 2).utf8 { digits = digit == UInt8(ascii: "1") ? digits.withOne : digits.withZero }
        return digits.stubClass
    }
}

/// A number as a type. Each binary digit is a nested type.
private protocol TypeNumber {}
private enum LastDigit: TypeNumber {}
private enum Zero<Rest: TypeNumber>: TypeNumber {}
private enum One<Rest: TypeNumber>: TypeNumber {}

extension TypeNumber {
    fileprivate static var withZero: any TypeNumber.Type { Zero<Self>.self }
    fileprivate static var withOne: any TypeNumber.Type { One<Self>.self }
    fileprivate static var stubClass: StubURLProtocol.Type { NumberedStubURLProtocol<Self>.self }
}

private final class NumberedStubURLProtocol<Number: TypeNumber>: StubURLProtocol {}
