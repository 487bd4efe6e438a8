#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#elseif canImport(Darwin)
internal import Darwin
#endif

/// Returns e to the power of a number, by the C library's `exp`.
package func exponential(_ power: Double) -> Double { exp(power) }
