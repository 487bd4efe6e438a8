internal import ErrandCore
internal import Testing

@Suite struct UnsafeFieldErrorTests {
    private func fields(_ value: [UInt8], named name: HTTPField.Name = .accept) -> HTTPFields {
        HTTPFields([HTTPField(name: .userAgent, value: "a"), HTTPField(name: name, lenientValue: value)])
    }

    /// HTTPTypes replaces CR, LF and NUL by spaces.
    @Test func eachControlCharacterExceptTheTabIsUnsafeAtEachPosition() {
        for octet in UInt8.min...UInt8.max where ![0x00, 0x0A, 0x0D].contains(octet) {
            let isUnsafe = octet < 0x20 && octet != 0x09 || octet == 0x7F
            for position in 0..<18 {
                var value = Array("0123456789abcdefgh".utf8)
                value[position] = octet
                #expect((UnsafeFieldError(in: fields(value)) != nil) == isUnsafe, "\(octet) at \(position)")
            }
        }
    }

    @Test func theDescriptionHasTheNameAndNotTheValue() throws {
        let error = try #require(UnsafeFieldError(in: fields(Array("hunter2\u{1}".utf8), named: .authorization)))
        #expect(error.name == "Authorization")
        #expect("\(error)" == "the field 'Authorization' of the request contains a control character, such as a line break")
    }

    @Test func emptyFieldsAreSafe() {
        #expect(UnsafeFieldError(in: [:]) == nil && UnsafeFieldError(in: fields([])) == nil)
    }
}
