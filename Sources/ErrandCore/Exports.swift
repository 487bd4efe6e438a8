// Code that imports the seam also gets the values that it is made of.

@_exported public import ErrandFormats
@_exported public import HTTPTypes
