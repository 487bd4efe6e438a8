import Testing

@testable import ErrandTransfers

@Suite(.timeLimit(.minutes(5))) struct TransferResumptionTests {
    @Test func aDownloadIsDescribed() {
        var download = DownloadResumption(fileName: "a.zip")
        (download.bytes, download.total, download.validator) = (5, 10, "\"a\"")
        let resumption = TransferResumption.download(download)
        #expect(resumption.bytes == 5 && resumption.total == 10 && resumption.canContinue)
        #expect(resumption.description == "a.zip, 5 of 10 bytes, can continue")
        download.validator = nil
        #expect(!TransferResumption.download(download).canContinue)
    }
}
