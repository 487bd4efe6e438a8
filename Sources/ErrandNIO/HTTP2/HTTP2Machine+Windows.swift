#if SWIFT_NIO
internal import ErrandCore

/// The windows of flow control ([RFC 9113, section 5.2](https://www.rfc-editor.org/rfc/rfc9113#section-5.2)).
extension HTTP2Machine {
    /// Sets the number of bytes that the server may still send, after the server has sent DATA.
    ///
    /// - Parameter number: 0 for the connection.
    mutating func receiveWindow(_ number: Int32, bytes: Int) {
        if number == 0 { windowBytes = bytes } else { streams.change(number) { $0.windowBytes = bytes } }
    }

    /// Sets whether a stream is held back until the reader of its response has taken more data.
    mutating func holdBack(_ number: Int32, _ isHeldBack: Bool) { streams.change(number) { $0.isHeldBack = isHeldBack } }

    /// Returns the number of bytes by which the window of a stream must grow now. `nil` if the window must not grow yet, for example
    /// because more than half of the window is left.
    mutating func windowUpdate(_ number: Int32) -> Int? {
        guard let stream = streams[number], !stream.isHeldBack, stream.download != .ended else { return nil }
        guard stream.windowBytes <= streamWindowBytes / 2 else { return nil }
        streams.change(number) { [streamWindowBytes] in $0.windowBytes = streamWindowBytes }
        return streamWindowBytes - stream.windowBytes
    }

    /// Checks a WINDOW_UPDATE, by which the server allows more bytes of a request
    /// ([RFC 9113, section 6.9](https://www.rfc-editor.org/rfc/rfc9113#section-6.9)). `NIOHTTP2Handler` checks the frame if the request
    /// is not complete, and ignores the frame if the request is complete.
    ///
    /// - Returns: `nil` if the frame is valid; otherwise the code for the reset of the stream. The frame is invalid if the increment
    ///   is 0, or if all increments together exceed 2^31-1.
    mutating func receiveWindowUpdate(_ number: Int32, _ bytes: Int) -> HTTP2Code? {
        guard let stream = streams[number], stream.upload == .sent else { return nil }
        guard bytes > 0 else { return .protocolError }
        let sum = stream.idleAllowanceBytes + bytes
        streams.change(number) { $0.idleAllowanceBytes = sum }
        return sum > Int(Int32.max) ? .flowControlError : nil
    }

    /// Changes the windows of all streams after the server has acknowledged the settings
    /// ([RFC 9113, section 6.9.2](https://www.rfc-editor.org/rfc/rfc9113#section-6.9.2)).
    mutating func changeStreamWindows(by bytes: Int) {
        streamWindowBytes += bytes
        for number in streams.keys { streams.change(number) { $0.windowBytes += bytes } }
    }

    /// Returns the number of bytes by which the window of the connection must grow now. `nil` if the window does not grow. The window
    /// does not depend on readers, because a slow reader must not hold back other streams.
    mutating func connectionWindowUpdate() -> Int? {
        guard windowBytes <= HTTP2Limits.connectionWindowBytes / 2 else { return nil }
        defer { windowBytes = HTTP2Limits.connectionWindowBytes }
        return HTTP2Limits.connectionWindowBytes - windowBytes
    }
}
#endif
