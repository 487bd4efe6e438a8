#if canImport(os) && Telemetry
import Errand
import Logging

// A sample of the article "What the console shows", to the letter: `ReadmeTests` holds each block of it against this file.

func systemLogger() -> Logger {
    Logger(label: "http") { SystemLogHandler(subsystem: "com.example.notes", category: $0) }
}
#endif
