#if !canImport(FoundationNetworking) || ERRAND_APPLE_CHECK
internal import Foundation

#if ERRAND_APPLE_CHECK
internal import AppleFoundation
internal import FoundationNetworking
#endif

/// Returns a request and an output stream. The body stream of the request returns the bytes that are written to the output stream.
///
/// The session and the sink use the streams on different threads. The compiler assumes that both streams of one call belong to the same
/// thread. A `URLRequest` is `Sendable`, and can carry its body stream to another thread. Therefore, the function returns the input stream
/// in a request.
private func makeBoundStreams(bufferBytes: Int) -> sending (URLRequest, OutputStream)? {
    var (input, output): (InputStream?, OutputStream?) = (nil, nil)
    Stream.getBoundStreams(withBufferSize: bufferBytes, inputStream: &input, outputStream: &output)
    guard let input, let output else { return nil }
    var request = URLRequest(url: URL(fileURLWithPath: "/"))
    request.httpBodyStream = input
    return (request, output)
}

/// Returns a stream for a session on Apple's platforms, and the sink that writes bytes to the stream.
@Sendable func makePlatformSink(onEnd: @escaping @Sendable () -> Void) -> (InputStream, any UploadSink)? {
    guard let (request, output) = makeBoundStreams(bufferBytes: OutputStreamSink.bufferBytes) else { return nil }
    let sink = OutputStreamSink(output, onEnd: onEnd)
    guard let input = request.httpBodyStream else { return nil }
    return (input, sink)
}
#endif
