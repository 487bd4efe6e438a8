internal import Synchronization

/// An object that its users share. The object is created at its first use, and is released when no user needs it any more.
package final class SharedObject<Object: AnyObject & Sendable>: Sendable {
    private struct Reference: Sendable {
        weak var object: Object?
    }

    private let reference = Mutex(Reference())
    private let make: @Sendable () -> Object

    /// - Parameter make: creates the object. The closure runs under a lock, and must not use this value.
    package init(_ make: @escaping @Sendable () -> Object) { self.make = make }

    /// The object that is in use, or a new object if no object is in use.
    package var object: Object {
        reference.withLock { reference in
            if let object = reference.object { return object }
            let new = make()
            reference.object = new
            return new
        }
    }
}
