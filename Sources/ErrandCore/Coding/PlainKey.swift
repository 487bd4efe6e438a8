/// A coding key that is only a name, or the index of an element.
package struct PlainKey: CodingKey {
    package let stringValue: String
    package let intValue: Int?

    package init(_ name: String) { (stringValue, intValue) = (name, nil) }
    package init(_ index: Int) { (stringValue, intValue) = (String(index), index) }
    package init?(stringValue: String) { self.init(stringValue) }
    package init?(intValue: Int) { self.init(intValue) }
}
