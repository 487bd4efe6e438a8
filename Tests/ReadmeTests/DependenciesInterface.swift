// The declarations that the article needs from a framework for dependencies. The packages of this repository do not include the framework.
// The article's sample is type-checked with these declarations, and has not run with the framework.

nonisolated public protocol DependencyKey: Sendable {
    associatedtype Value: Sendable = Self
    static var liveValue: Value { get }
    static var previewValue: Value { get }
    static var testValue: Value { get }
}

nonisolated public struct DependencyValues: Sendable {
    private var overridden: [ObjectIdentifier: any Sendable] = [:]

    @TaskLocal static var current = DependencyValues()

    public subscript<Key: DependencyKey>(key: Key.Type) -> Key.Value {
        get { overridden[ObjectIdentifier(key)] as? Key.Value ?? Key.testValue }
        set { overridden[ObjectIdentifier(key)] = newValue }
    }
}

@propertyWrapper
nonisolated public struct Dependency<Value: Sendable>: Sendable {
    private let read: @Sendable () -> Value

    public init(_ path: any KeyPath<DependencyValues, Value> & Sendable) { read = { DependencyValues.current[keyPath: path] } }

    public var wrappedValue: Value { read() }
}
