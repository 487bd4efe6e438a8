// It re-exports the values that the seam is made of.

@_exported public import ErrandFormats
@_exported public import HTTPTypes

#if canImport(FoundationEssentials)
@_exported public import FoundationEssentials
#else
@_exported public import Foundation
#endif
