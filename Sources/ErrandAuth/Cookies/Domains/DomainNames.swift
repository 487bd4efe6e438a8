#if Auth
internal import ErrandFormats

/// A table that gives each name of a domain a small index. The index of a removed name is used again.
///
/// One walk over a host finds the indices of the host and of all domains that include the host. The hash of a name is a polynomial of its
/// octets from the end to the beginning, modulo 2^61 - 1. Therefore the hash of a host contains the hashes of its parent domains.
///
/// The hash depends on secrets of the process, so that a server can't choose names that share a bucket. Two names of at most 253 octets
/// have equal hashes with a probability of at most 2^-52. Even with equal hashes, a search is correct: the names are compared.
struct DomainNames: Sendable {
    /// The parts of an entry that a search reads. Copying this value changes no reference count.
    private struct Link: Sendable {
        var hash: UInt64
        /// The next entry of the bucket, by index; -1 if there is no such entry.
        var next: Int32
    }

    /// The names that include a host, by index.
    struct Matches: Sendable {
        /// The host itself; `nil` if there is no such name.
        var host: Int?
        /// The parent domains of the host, from the shortest to the longest.
        var parents: [Int] = []

        var isEmpty: Bool { host == nil && parents.isEmpty }
    }

    private var links: [Link] = []
    /// The names, by index; empty for a free index.
    private var names: [String] = []
    private var free: [Int] = []
    /// The first entry of each bucket, by index; -1 for an empty bucket. The number of buckets is a power of two.
    private var buckets = [Int32](repeating: -1, count: 16)
    private let hashing = Hashing()

    subscript(index: Int) -> String { names[index] }

    /// Returns the index of a name; `nil` if there is no such name.
    func index(of name: String) -> Int? {
        name.withUTF8Bytes { octets in index(of: octets, hashing.hash(octets)) }
    }

    private func index(of name: UnsafeBufferPointer<UInt8>, _ hash: UInt64) -> Int? {
        var index = Int(buckets[hashing.bucket(of: hash, amongst: buckets.count)])
        while index >= 0 {
            if links[index].hash == hash, names[index].withUTF8Bytes({ $0.isExactly(name) }) { return index }
            index = Int(links[index].next)
        }
        return nil
    }

    /// Returns the names that include a host.
    ///
    /// A parent domain has at least two labels. A single label is a public suffix, so that no cookie has a single label as a domain for
    /// other hosts. Allocates nothing unless there is a parent domain.
    func matches(including host: String) -> Matches {
        var found = Matches()
        host.withUTF8Bytes { octets in
            var (hash, hasDot, start): (UInt64, Bool, Int) = (0, false, octets.count)
            while start > 0 {
                let octet = octets[start - 1]
                if octet == UInt8(ascii: ".") {
                    if hasDot, let index = index(of: UnsafeBufferPointer(rebasing: octets[start...]), hash) { found.parents.append(index) }
                    hasDot = true
                }
                hash = hashing.adding(octet, to: hash)
                start -= 1
            }
            found.host = index(of: octets, hash)
        }
        return found
    }

    /// Adds a name that is new.
    ///
    /// - Returns: a free index, or the next new index if no index is free.
    mutating func add(_ name: String) -> Int {
        let link = Link(hash: name.withUTF8Bytes(hashing.hash), next: -1)
        let index: Int
        if let last = free.popLast() {
            index = last
            (links[index], names[index]) = (link, name)
        } else {
            index = names.count
            links.append(link)
            names.append(name)
        }
        if names.count > buckets.count { grow() } else { insert(index) }
        return index
    }

    private mutating func insert(_ index: Int) {
        let bucket = hashing.bucket(of: links[index].hash, amongst: buckets.count)
        links[index].next = buckets[bucket]
        buckets[bucket] = Int32(index)
    }

    /// Doubles the number of buckets. This function is called only if no index is free.
    private mutating func grow() {
        buckets = [Int32](repeating: -1, count: buckets.count * 2)
        for index in links.indices { insert(index) }
    }

    /// Removes the name with an index.
    mutating func remove(_ index: Int) {
        let bucket = hashing.bucket(of: links[index].hash, amongst: buckets.count)
        if Int(buckets[bucket]) == index {
            buckets[bucket] = links[index].next
        } else {
            var before = Int(buckets[bucket])
            while Int(links[before].next) != index { before = Int(links[before].next) }
            links[before].next = links[index].next
        }
        names[index] = ""
        free.append(index)
    }
}

extension DomainNames {
    /// The hash of names, with the secrets of the process.
    private struct Hashing: Sendable {
        /// 2^61 - 1, a prime number.
        private static let prime: UInt64 = 1 << 61 - 1
        /// The secret at which the polynomial is evaluated, less than the prime number.
        private let base: UInt64
        /// The secret by which hashes are spread over the buckets; odd.
        private let factor: UInt64

        init() {
            // The hashes of the standard library are secret and random, unless the environment asks for the same hashes in each run.
            (base, factor) = (UInt64(bitPattern: Int64("base".hashValue)) >> 3, UInt64(bitPattern: Int64("factor".hashValue)) | 1)
        }

        /// Returns the hash of a name that begins with `octet`.
        ///
        /// - Parameter hash: the hash of the rest of the name, less than 2^62.
        func adding(_ octet: UInt8, to hash: UInt64) -> UInt64 {
            let (high, low) = hash.multipliedFullWidth(by: base)
            // Modulo the prime number, 2^61 equals 1.
            let sum = (low & Self.prime) &+ (high << 3 | low >> 61) &+ UInt64(octet) &+ 1
            return (sum & Self.prime) &+ (sum >> 61)
        }

        func hash(_ name: UnsafeBufferPointer<UInt8>) -> UInt64 {
            var hash: UInt64 = 0
            var start = name.count
            while start > 0 {
                start -= 1
                hash = adding(name[start], to: hash)
            }
            return hash
        }

        /// Returns the bucket of a hash.
        ///
        /// - Parameter count: the number of buckets, a power of two.
        func bucket(of hash: UInt64, amongst count: Int) -> Int {
            Int(truncatingIfNeeded: (hash &* factor) >> UInt64(64 - count.trailingZeroBitCount))
        }
    }
}
#endif
