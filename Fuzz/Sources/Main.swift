import ErrandFormats

// The entry points of libFuzzer. `scripts/fuzz` builds this program and names the target in `ERRAND_FUZZ_TARGET`.

/// A parser under test: takes any bytes, and stops the process if a property does not hold.
struct Target: Sendable {
    let name: String
    let run: @Sendable (inout Input) -> Void

    init(_ name: String, _ run: @escaping @Sendable (inout Input) -> Void) { (self.name, self.run) = (name, run) }

    static let all: [Target] =
        streamTargets + jsonTargets + multipartTargets + fieldTargets + structuredFieldTargets + urlTargets + redactionTargets
        + connectionTargets + compressionTargets + valueTargets + netlinkTargets + cookieFileTargets + storeTargets
        + transferTargets

    /// The one to run.
    static let chosen: Target = {
        let name = environment("ERRAND_FUZZ_TARGET") ?? ""
        guard let target = all.first(where: { $0.name == name }) else {
            fail("ERRAND_FUZZ_TARGET must be one of \(all.map(\.name).joined(separator: " ")) (is '\(name)')")
        }
        return target
    }()
}

@_cdecl("LLVMFuzzerInitialize")
public func initialize(_ count: UnsafeMutablePointer<CInt>?, _ arguments: UnsafeMutableRawPointer?) -> CInt {
    if environment("ERRAND_FUZZ_LIST") != nil {
        for target in Target.all { print(target.name) }
        endProcess()
    }
    _ = Target.chosen
    return 0
}

@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    var input = Input(Array(UnsafeBufferPointer(start: start, count: count)))
    Target.chosen.run(&input)
    return 0
}
