/// The error of a feature that needs a hash function, in a build without the trait `Crypto`.
package struct HashingUnavailableError: Error, Hashable, CustomStringConvertible {
    /// What needs the hash function, as an app names it.
    package let feature: String

    private init(feature: String) { self.feature = feature }

    /// What is missing, and how an app gets it: `a durable partition needs a hash function: switch on the trait Crypto of the package Errand`.
    package var description: String { "\(feature) needs a hash function: switch on the trait Crypto of the package Errand" }

    /// Refuses a feature in a build without the trait `Crypto`.
    ///
    /// - Parameter feature: what needs the hash function, as an app names it.
    package static func check(_ feature: StaticString) throws(HashingUnavailableError) {
        #if !Crypto
        throw HashingUnavailableError(feature: "\(feature)")
        #endif
    }
}
