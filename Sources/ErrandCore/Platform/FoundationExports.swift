// Importing this module also imports Foundation's value types, such as `Data`.

#if canImport(FoundationEssentials)
@_exported public import FoundationEssentials
#else
@_exported public import Foundation
#endif
