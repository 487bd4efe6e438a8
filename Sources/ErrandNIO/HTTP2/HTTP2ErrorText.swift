#if SWIFT_NIO
internal import NIOHTTP2

/// Texts for the errors of `NIOHTTP2Handler` about frames.
enum HTTP2ErrorText {
    /// - Parameter code: the code of the GOAWAY; `nil` if no GOAWAY was sent.
    static func of(_ error: any Error, _ code: HTTP2Code? = nil) -> String {
        switch error {
        case is NIOHTTP2Errors.UnableToParseFrame where code == .frameSizeError:
            "a frame of the server has a length that is not allowed (RFC 9113, section 4.2)"
        case is NIOHTTP2Errors.UnableToParseFrame:
            "a frame of the server is on a stream where it must not be, has too much padding, or comes between the parts of a head "
                + "(RFC 9113, section 6)"
        case is NIOHTTP2Errors.ExcessivelyLargeHeaderBlock: "the fields of a response are longer than allowed"
        case is NIOHTTP2Errors.ExcessiveContinuationFrames: "the fields of a response come in too many frames"
        case is NIOHTTP2Errors.ExcessiveRSTFrames: "the server reset too many streams"
        case is NIOHTTP2Errors.ExcessiveControlFrames: "the server sent too many control frames"
        case is NIOHTTP2Errors.ExcessiveEmptyDataFrames: "the server sent too many empty frames"
        case is NIOHTTP2Errors.ExcessiveNumberOfGlitches, is NIOHTTP2Errors.ExcessiveStreamErrors:
            "the server broke the rules of HTTP/2 on too many streams"
        case is NIOHTTP2Errors.PushInViolationOfSetting: "the server pushed a response, which the client does not allow"
        case is NIOHTTP2Errors.FlowControlViolation: "the server sent more than the window allows"
        case is NIOHTTP2Errors.InvalidFlowControlWindowSize, is NIOHTTP2Errors.InvalidWindowIncrementSize:
            "the server changed a window in an invalid way"
        case is NIOHTTP2Errors.InvalidSetting, is NIOHTTP2Errors.ReceivedBadSettings:
            "a setting of the server is outside its bounds (RFC 9113, section 6.5.2)"
        case is NIOHTTP2Errors.RaisedGoawayLastStreamID:
            "the server sent a second GOAWAY, with a later stream than the first (RFC 9113, section 6.8)"
        case is NIOHTTP2Errors.NoSuchStream: "the server sent a frame of a stream that is not open (RFC 9113, section 5.1)"
        case is NIOHTTP2Errors.StreamClosed: "the server sent a frame of a stream that has ended (RFC 9113, section 5.1)"
        case is NIOHTTP2Errors.InvalidStreamIDForPeer, is NIOHTTP2Errors.StreamIDTooSmall, is NIOHTTP2Errors.CreatedStreamAfterGoaway:
            "the server opened a stream, which only the client may do (RFC 9113, section 5.1.1)"
        case is NIOHTTP2Errors.BadStreamStateTransition: "the server sent a frame that the state of its stream does not allow"
        case is NIOHTTP2Errors.MissingPreface: "the server did not begin with SETTINGS"
        case is NIOHTTP2Errors.TrailersWithoutEndStream: "the response has trailer fields, but its stream does not end after these fields"
        case let error as any NIOHTTP2Error: "the server broke a rule (\(type(of: error)))"
        default: FailureText.of(error)
        }
    }
}
#endif
