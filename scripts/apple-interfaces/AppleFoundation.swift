// What the code of this repository uses of Foundation on Apple's platforms, and Foundation on Linux lacks. It is declared from memory, for
// type-checking alone: see scripts/check-apple.

import Foundation
import FoundationNetworking

extension URLError {
    // https://developer.apple.com/documentation/foundation/urlerror/networkunavailablereason-swift.property
    public enum NetworkUnavailableReason: Int, Sendable { case cellular, expensive, constrained }
    public var networkUnavailableReason: NetworkUnavailableReason? { nil }
}

extension Stream {
    // https://developer.apple.com/documentation/foundation/stream/getboundstreams(withbuffersize:inputstream:outputstream:)
    public class func getBoundStreams(
        withBufferSize bufferSize: Int, inputStream: UnsafeMutablePointer<InputStream?>?,
        outputStream: UnsafeMutablePointer<OutputStream?>?
    ) {}
}
