// What the code of this repository uses of Foundation on Apple's platforms, and Foundation on Linux lacks. Each declaration names the page
// of Apple's documentation that it was read from, in a stored copy, on the date beside the address. See scripts/check-apple.

import Foundation
import FoundationNetworking

extension URLError {
    // https://developer.apple.com/documentation/foundation/urlerror/networkunavailablereason-swift.enum (read on 2026-11-27)
    public enum NetworkUnavailableReason { case cellular, expensive, constrained }
    // https://developer.apple.com/documentation/foundation/urlerror/networkunavailablereason-swift.property (read on 2026-11-27)
    public var networkUnavailableReason: NetworkUnavailableReason? { nil }
}

extension Stream {
    // https://developer.apple.com/documentation/foundation/stream/getboundstreams(withbuffersize:inputstream:outputstream:) (read on 2026-11-27)
    // There, both pointers are of the type AutoreleasingUnsafeMutablePointer, which Linux lacks.
    public class func getBoundStreams(
        withBufferSize bufferSize: Int, inputStream: UnsafeMutablePointer<InputStream?>?,
        outputStream: UnsafeMutablePointer<OutputStream?>?
    ) {}
}

// From memory: URLSessionDelegate inherits from Sendable. The methods of URLSessionTaskDelegate and URLSessionDataDelegate that a session of
// this repository needs. On Apple's platforms, these methods are optional, and a method that differs in its name is not called.
public protocol DelegateMethods: Sendable {
    // https://developer.apple.com/documentation/foundation/urlsessiondatadelegate/urlsession(_:datatask:didreceive:completionhandler:) (read on 2026-11-27)
    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void)

    // https://developer.apple.com/documentation/foundation/urlsessiondatadelegate/urlsession(_:datatask:didreceive:) (read on 2026-11-27)
    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data)

    // https://developer.apple.com/documentation/foundation/urlsessiontaskdelegate/urlsession(_:task:didsendbodydata:totalbytessent:totalbytesexpectedtosend:) (read on 2026-11-27)
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64)

    // https://developer.apple.com/documentation/foundation/urlsessiontaskdelegate/urlsession(_:task:neednewbodystream:) (read on 2026-11-27)
    func urlSession(
        _ session: URLSession, task: URLSessionTask, needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void)

    // https://developer.apple.com/documentation/foundation/urlsessiontaskdelegate/urlsession(_:task:willperformhttpredirection:newrequest:completionhandler:) (read on 2026-11-27)
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void)

    // https://developer.apple.com/documentation/foundation/urlsessiontaskdelegate/urlsession(_:task:didreceive:completionhandler:) (read on 2026-11-27)
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void)

    // https://developer.apple.com/documentation/foundation/urlsessiontaskdelegate/urlsession(_:task:didfinishcollecting:) (read on 2026-11-27)
    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics)

    // https://developer.apple.com/documentation/foundation/urlsessiontaskdelegate/urlsession(_:task:didcompletewitherror:) (read on 2026-11-27)
    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?)
}
