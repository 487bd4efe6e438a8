// The only import of Foundation's value types (`Data`, `URL`, `Date`) in ErrandCore. The import is exported: the files of ErrandCore, and
// modules that import ErrandCore, use these types without their own import. scripts/check-imports refuses Foundation outside `Platform/`.

#if canImport(FoundationEssentials)
@_exported public import FoundationEssentials
#else
@_exported public import Foundation
#endif
