import Errand
import Foundation

// The samples of the article "Envelopes", to the letter: `ReadmeTests` holds each block of it against this file.

nonisolated struct ShopEnvelope: ResponseEnvelope {
    var code: Int
    var message: String?
    var requestId: String?

    var failure: ServiceError? {
        code == 0 ? nil : ServiceError(.init(code), message: message ?? "", requestID: requestId)
    }
}

func makeShop(_ stack: HTTPStack) -> APIClient {
    APIClient(stack, json: JSONCoding(keys: .snakeCase), envelope: ShopEnvelope.self)
}

nonisolated struct PurchaseList: Decodable, Sendable {
    var data: [Purchase]
    var nextCursor: String?
}

func printPurchases(_ shop: APIClient) async throws {
    let list = Endpoint<PurchaseList>(.get, "/purchases", decoding: .json.includingEnvelope)
    for try await purchase in shop.pages(list, next: .cursor(\.nextCursor)).elements(\.data) { print(purchase.id) }
}

extension ServiceError.Code {
    static let balanceTooLow: Self = 40_012
}

nonisolated struct Purchase: Codable, Sendable {
    var id: Int
}

// swift-format-ignore
func buy(_ purchase: Purchase, in shop: APIClient, show: (String) -> Void) async throws {
    do {
        try await shop.post("/purchases", body: .json(purchase))
    } catch let error as ServiceError where error.code == .balanceTooLow {
        show("Top up your account. \(error.message)")
    } catch where error.needsSignIn {
        show("Sign in again.")
    } catch where error.isConnectivityError {
        show("You seem to be offline.")
    } catch where error.isTimeout {
        show("The shop takes too long.")
    } catch let error as any RequestFailure {
        show(error.localizedDescription)  // a sentence for people: the message of the back end, if there is one
    }
}
