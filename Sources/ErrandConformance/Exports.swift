@_exported public import ErrandTesting
