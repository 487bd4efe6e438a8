internal import Foundation

/// The server as a program, for scripts and for experiments by hand.
///
///     UploadPeer [FOLDER]      keeps the content of each upload in FOLDER, in a file named by its SHA-256
///
/// The program prints one line, `{"port":40123}`, and ends with its standard input.
@main enum UploadPeer {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.count <= 1 else {
            try FileHandle.standardError.write(contentsOf: Data("usage: UploadPeer [FOLDER]\n".utf8))
            exit(64)
        }
        let server = try await UploadServer.start(folder: arguments.first.map { URL(fileURLWithPath: $0, isDirectory: true) })
        try FileHandle.standardOutput.write(contentsOf: Data("{\"port\":\(server.port)}\n".utf8))
        while readLine() != nil {}
        await server.stop()
    }
}
