#if Auth
import Errand

extension CookieJar {
    /// Stores the cookie of a field, and returns why it was refused; `nil` if it was stored.
    func refusal(_ field: String, from url: String = "https://www.a.example/dir/file") throws -> CookieRefusedError.Code? {
        guard let cookie = SetCookie(field) else { return .invalid }
        do {
            try set(cookie, from: HTTPURL(url))
            return nil
        } catch let refusal as CookieRefusedError {
            return refusal.code
        }
    }

    /// The cookies that a request carries, in the form of the field.
    func field(for url: String = "https://www.a.example/dir/file") throws -> String {
        cookies(for: try HTTPURL(url)).map { $0.name.isEmpty ? $0.value : "\($0.name)=\($0.value)" }.joined(separator: "; ")
    }
}
#endif
