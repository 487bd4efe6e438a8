// The module has no code. Its target makes `ErrandNIO` depend on SwiftNIO on Apple's platforms, if the trait `NIOEverywhere` is on.
