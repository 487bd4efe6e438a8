#if MockServer
public import ErrandMockServer

/// A certificate authority with its certificate in a file.
public struct FileAuthority {
    /// The authority.
    public let authority: TestAuthority
    /// The folder of the file.
    public let folder: TestFolder

    public init() throws {
        (authority, folder) = (try TestAuthority(), try TestFolder("authority"))
        try authority.writeCertificate(toPath: path)
    }

    /// The path of the certificate.
    public var path: String { folder.file("authority.pem") }
}
#endif
