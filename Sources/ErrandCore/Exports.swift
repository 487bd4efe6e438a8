// The values that the seam is made of: whoever imports it has them.

@_exported public import ErrandFormats
@_exported public import HTTPTypes
