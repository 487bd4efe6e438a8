#if !canImport(FoundationNetworking) || ERRAND_APPLE_CHECK
internal import Foundation

#if ERRAND_APPLE_CHECK
internal import AppleFoundation
#endif

/// Returns two connected streams: the input stream returns the bytes that are written to the output stream.
func makeBoundStreams(bufferBytes: Int) -> (InputStream, OutputStream)? {
    var (input, output): (InputStream?, OutputStream?) = (nil, nil)
    Stream.getBoundStreams(withBufferSize: bufferBytes, inputStream: &input, outputStream: &output)
    guard let input, let output else { return nil }
    return (input, output)
}
#endif
