internal import AppleFoundation

extension SessionDelegate: DelegateMethods {}
