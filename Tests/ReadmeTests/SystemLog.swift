#if canImport(os) && Telemetry
import Errand
import Logging

// A sample of the article "What the console shows", unchanged: `ReadmeTests` compares each sample with this file.

func systemLogger() -> Logger {
    Logger(label: "http") { SystemLogHandler(subsystem: "com.example.notes", category: $0) }
}
#endif
