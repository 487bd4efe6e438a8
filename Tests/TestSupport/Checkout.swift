public import Foundation

/// The folder of this repository.
public enum Checkout {
    public static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
}
