// Importing this module also imports the modules whose types its API uses.

@_exported public import ErrandFormats
@_exported public import HTTPTypes
