import ErrandCore
import Foundation
import TestSupport
import Testing

@testable import ErrandTransfers

@Suite(.timeLimit(.minutes(5))) struct TransferErrorTests {
    private static let codes: [TransferError.Code] = [
        .changed, .unusablePart, .noSpace, .digestMismatch, .journalUnreadable, .busy, .tooLarge, .invalidRequest,
    ]

    private var resumption: TransferResumption {
        var download = DownloadResumption(fileName: "archive.zip")
        (download.bytes, download.total, download.validator) = (5, 10, "\"secret-validator\"")
        return .download(download)
    }

    @Test func theTextNamesTheRequestTheReasonAndTheBytes() throws {
        let request = try Request(.get, url: "https://a.example/archive.zip?token=hidden", headers: [.authorization: "hidden"])
        let error = TransferError(
            .noSpace, "the disk is full", resumption: resumption, request: request, response: HTTPResponse(status: .ok))
        #expect("\(error)".contains("GET https://a.example/archive.zip"))
        #expect("\(error)".hasSuffix("no space: the disk is full (archive.zip, 5 of 10 bytes, can continue)"))
        var dumped = ""
        dump(error, to: &dumped)
        for text in ["\(error)", error.localizedDescription, error.failureReason ?? "", error.recoverySuggestion ?? "", dumped] {
            #expect(!text.contains("hidden") && !text.contains("secret-validator"))
        }
    }

    @Test(arguments: codes) func aPersonGetsASentenceWithoutDetails(_ code: TransferError.Code) throws {
        let error = TransferError(code, "7", request: try get("/archive7.zip"))
        #expect(error.localizedDescription == error.errorDescription && error.localizedDescription.hasSuffix("."))
        #expect(!error.localizedDescription.contains("7"))
        #expect(error.failureReason?.hasSuffix(".") == true && error.failureReason?.contains("7") == true)
    }

    @Test(
        arguments: [
            (.noSpace, "Free some space on the disk, and try again. The transfer continues from the last byte."),
            (.changed, "Try again. The transfer starts from the beginning."),
            (.unusablePart, "Try again. The transfer starts from the beginning."),
            (.digestMismatch, "Try again. The transfer starts from the beginning."),
            (.busy, "Wait until the other transfer ends."),
            (.journalUnreadable, "Remove the journal, and try again. The transfer starts from the beginning."),
            (.tooLarge, nil), (.invalidRequest, nil), (TransferError.Code("new"), nil),
        ] as [(TransferError.Code, String?)])
    func theNextStepIsNamed(_ code: TransferError.Code, _ advice: String?) {
        #expect(TransferError(code, "reason").recoverySuggestion == advice)
    }

    @Test func beforeAResponseNothingWasSent() {
        let early = TransferError(.busy, "reason")
        #expect(early.phase == .request && early.delivery == .notSent && early.response == nil)
        let late = TransferError(.changed, "reason", response: HTTPResponse(status: .ok))
        #expect(late.phase == .body && late.delivery == .sent)
    }
}
