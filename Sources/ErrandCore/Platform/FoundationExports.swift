// Code that imports the seam also gets Foundation's values, such as `Data`.

#if canImport(FoundationEssentials)
@_exported public import FoundationEssentials
#else
@_exported public import Foundation
#endif
