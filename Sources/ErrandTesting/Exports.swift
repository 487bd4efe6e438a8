@_exported public import ErrandRecording
