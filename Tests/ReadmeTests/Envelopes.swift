import Errand
import Foundation

// The samples of the article "Envelopes", unchanged: `ReadmeTests` compares each sample with this file.

nonisolated struct ShopEnvelope: ResponseEnvelope {
    var code: Int
    var message: String?
    var requestId: String?

    var failure: ServiceError? {
        let code = ServiceError.Code(code)
        if code == 0 { return nil }
        let status: HTTPResponse.Status? = code == .tokenExpired ? .unauthorized : nil
        return ServiceError(code, message: message ?? "", requestID: requestId, equivalentStatus: status)
    }
}

nonisolated extension ServiceError.Code {
    static let balanceTooLow: Self = 40_012
    static let tokenExpired: Self = 40_101
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
    } catch where error.isTransient && error.mayHaveBeenProcessed {
        show("Check your purchases before you try again.")
    } catch where error.isOffline {
        show("This device is offline.")
    } catch let error as any RequestFailure {
        show(error.localizedDescription)  // a sentence for people: the message of the back end, if there is one
    }
}

#if Auth
func makeShop(_ transport: HTTPStack, tokens: TokenSource) -> APIClient {
    let stack =
        transport
        .wrapped(
            by: TransformMiddleware.response("expired token") { response in
                guard response.headers[.contentType]?.hasPrefix("application/json") == true else { return }
                let data = try await response.body.collect()
                response.body = ResponseBody(data)
                let envelope = try? JSONCoding(keys: .snakeCase).decode(ShopEnvelope.self, from: data)
                if envelope?.failure?.equivalentStatus == .unauthorized { response.head.status = .unauthorized }
            }, inside: .authenticate
        )
        .authenticate(.bearer(tokens))
        .redirect()
        .retry()
        .server("https://shop.example/v1")
    return makeShop(stack)
}
#endif
