import Errand
import Foundation

// The samples of the article "Proxies", unchanged: `ReadmeTests` compares each sample with this file.

func makeProxiedTransport(password: String) throws -> NIOTransport {
    var configuration = NIOTransport.Configuration()
    configuration.proxy = .all(.http(host: "proxy.example", port: 3128, credentials: (user: "me", password: password)))
    return try NIOTransport(configuration)
}

func makeTransportOfTheEnvironment() throws -> NIOTransport {
    var configuration = NIOTransport.Configuration()
    configuration.proxy = .environment()  // http_proxy, https_proxy, all_proxy, no_proxy
    return try NIOTransport(configuration)
}

func makeOfficeTransport() throws -> NIOTransport {
    let office = try ProxySettings("http://proxy.example:3128")
    var configuration = NIOTransport.Configuration()
    configuration.proxy = .byOrigin { origin in origin.host.hasSuffix(".internal") ? nil : office }
    return try NIOTransport(configuration)
}

func makeTokenTransport(token: @escaping @Sendable () -> String) throws -> NIOTransport {
    let proxy = ProxySettings.http(host: "proxy.example", port: 3128).authenticated(
        by: ProxyAuthenticator { challenge in
            challenge.challenges.contains { $0.isScheme("Bearer") } && challenge.refusals == 0 ? "Bearer \(token())" : nil
        })
    var configuration = NIOTransport.Configuration()
    configuration.proxy = .all(proxy)
    return try NIOTransport(configuration)
}

func makeTransportOfTwoNetworks(token: @escaping @Sendable () -> String) throws -> NIOTransport {
    let authenticator = ProxyAuthenticator { challenge in
        challenge.proxy.host == "proxy.example" && challenge.refusals == 0 ? "Bearer \(token())" : nil
    }
    let office = ProxySettings.http(host: "proxy.example", port: 3128).authenticated(by: authenticator)
    let lab = ProxySettings.socks5(host: "lab.example")
    var configuration = NIOTransport.Configuration()
    configuration.proxy = .byOrigin { origin in
        switch origin.host {
        case "localhost": nil  // a direct connection
        case let host where host.hasSuffix(".lab.example"): lab
        default: office
        }
    }
    return try NIOTransport(configuration)
}

func makeTransportWithDigest(password: String) throws -> NIOTransport {
    var configuration = NIOTransport.Configuration()
    configuration.proxy = .all(
        .http(host: "proxy.example", port: 3128).authenticated(by: .digest(user: "joe", password: password)))
    return try NIOTransport(configuration)
}

func showProblemOfTheProxy(_ error: TransportError) {
    guard let proxy = error.proxy else { return }
    switch error.proxyCredentials {
    case .missing: print("Set the user and the password for the \(proxy).")  // HTTP proxy proxy.example:3128
    case .refused: print("Correct the user and the password for the \(proxy).")
    case nil: print(error.localizedDescription)
    }
}
