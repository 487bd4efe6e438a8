// The one import of Foundation's value types (`Data`, `URL`, `Date`) in ErrandCore. It is exported: all files of ErrandCore, and modules that
// import ErrandCore, use these types without an import of their own. scripts/check-imports refuses Foundation outside `Platform/`.

#if canImport(FoundationEssentials)
@_exported public import FoundationEssentials
#else
@_exported public import Foundation
#endif
