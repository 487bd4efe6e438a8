@_exported public import ErrandAPI
@_exported public import ErrandAuth
@_exported public import ErrandCache
@_exported public import ErrandCompression
@_exported public import ErrandCore
@_exported public import ErrandFormats
@_exported public import ErrandMiddleware
@_exported public import ErrandNIO
@_exported public import ErrandRedaction
@_exported public import ErrandTelemetry
@_exported public import ErrandTransfers

#if canImport(Darwin) || ERRAND_APPLE_CHECK
@_exported public import ErrandURLSession
#endif

#if canImport(FoundationInternationalization)
// URLs need this module to convert host names in other scripts (UTS 46). Apple's Foundation has the conversion built in.
internal import FoundationInternationalization
#endif
