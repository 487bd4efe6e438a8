/// The error for a feature that needs a hash function, in a build without the trait `Crypto`.
package struct HashingUnavailableError: Error, Hashable, CustomStringConvertible {
    /// The feature that needs the hash function, in the words of the API.
    package let feature: String

    private init(feature: String) { self.feature = feature }

    /// The problem, and how to solve it:
    /// `a durable partition needs a hash function: switch on the trait Crypto of the package Errand`.
    package var description: String { "\(feature) needs a hash function: switch on the trait Crypto of the package Errand" }

    /// Throws an error in a build without the trait `Crypto`.
    ///
    /// - Parameter feature: the feature that needs the hash function, in the words of the API.
    package static func check(_ feature: StaticString) throws(HashingUnavailableError) {
        #if !Crypto
        throw HashingUnavailableError(feature: "\(feature)")
        #endif
    }
}
