/// A value that hides its stored properties from `dump`, from debuggers and from other users of mirrors.
///
/// A mirror shows only ``shownFields``. By default, the mirror shows the text of `String(reflecting:)` if the type has a description.
/// If the type has no description, the mirror shows nothing.
package protocol HidesStorage: CustomReflectable {
    /// The fields that a mirror shows.
    var shownFields: KeyValuePairs<String, Any> { get }
}

extension HidesStorage {
    public var customMirror: Mirror { Mirror(self, children: shownFields) }
    package var shownFields: KeyValuePairs<String, Any> { [:] }
}

extension HidesStorage where Self: CustomStringConvertible {
    package var shownFields: KeyValuePairs<String, Any> { ["description": String(reflecting: self)] }
}
