#if MockServer
public import ErrandMockServer

/// A certificate authority whose certificate is in a file.
public struct FileAuthority {
    public let authority: TestAuthority
    public let folder: TestFolder

    public init() throws {
        (authority, folder) = (try TestAuthority(), try TestFolder("authority"))
        try authority.writeCertificate(toPath: path)
    }

    public var path: String { folder.file("authority.pem") }
}
#endif
