@_exported public import ErrandBehaviors
@_exported public import ErrandTesting
