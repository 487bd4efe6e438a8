import Errand
import Testing

@testable import ErrandCore

@Suite(.timeLimit(.minutes(5))) struct TypedValuesTests {
    private enum NumberKey: MetadataKey, OptionKey { static var defaultValue: Int { 7 } }
    private enum OtherNumberKey: MetadataKey, OptionKey { static var defaultValue: Int { 8 } }
    private enum OptionalKey: MetadataKey { static var defaultValue: String? { "default" } }

    @Test func aKeyHasItsDefaultUntilItIsSet() {
        var options = RequestOptions()
        #expect(options[NumberKey.self] == 7 && options[OtherNumberKey.self] == 8)
        options[NumberKey.self] = 1
        #expect(options[NumberKey.self] == 1 && options[OtherNumberKey.self] == 8)
    }

    @Test func nilIsAValue() {
        var metadata = ResponseMetadata()
        #expect(metadata[OptionalKey.self] == "default")
        metadata[OptionalKey.self] = nil
        #expect(metadata[OptionalKey.self] == nil)
    }

    @Test func copiesAreIndependentAndAnUnusedSetIsEmpty() {
        var values = MetadataValues()
        #expect(values.isEmpty)
        let copy = values
        values[NumberKey.self] = 1
        #expect(!values.isEmpty && copy.isEmpty && copy[NumberKey.self] == 7)
    }

    @Test func anOverrideInheritsSwitchesOffOrReplaces() {
        #expect(OptionOverride<Int>.inherited.resolved(1) == 1 && !OptionOverride<Int>.inherited.isOff)
        #expect(OptionOverride<Int>.off.resolved(1) == nil && OptionOverride<Int>.off.isOff)
        #expect(OptionOverride<Int>.use(2).resolved(1) == 2 && !OptionOverride<Int>.use(2).isOff)
    }

    @Test func commonOptionsAndMetadataHaveDefaults() {
        let (options, metadata) = (RequestOptions(), ResponseMetadata())
        #expect(options.sensitivity == .standard && options.eventSink == nil && options.urlTemplate == nil)
        #expect(options.fallbackHeaders.isEmpty && options.upgrade == nil)
        #expect(metadata.httpVersion == nil && metadata.attempts.isEmpty)
    }

    #if !os(iOS) && !os(tvOS) && !os(watchOS) && !os(visionOS)
    @Test func anOptionRefusesSecondsOutsideTheRangeOfDurations() async {
        let missing = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            var options = RequestOptions()
            options.timeout = .seconds(Double.nan)
        }
        let text = String(decoding: missing?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("seconds must be finite and in the range of Int64 (is nan)"))
        let endless = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = OptionOverride.seconds(1e19)
        }
        let large = String(decoding: endless?.standardErrorContent ?? [], as: UTF8.self)
        #expect(large.contains("seconds must be finite and in the range of Int64 (is 1e+19)"))
        #expect(OptionOverride.seconds(-0.5).resolved(.zero) == .milliseconds(-500))
    }
    #endif
}
