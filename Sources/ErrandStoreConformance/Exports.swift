@_exported public import ErrandBehaviors
