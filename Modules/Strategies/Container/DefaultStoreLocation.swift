package import Foundation

/// The default directory of stores: `Coherence` in the data directory of the user, by the conventions of the platform.
/// Programs share the directory where the platform gives no program a data directory of its own.
package enum DefaultStoreLocation {
  private static let directoryName = "Coherence"

  /// The directory, which need not exist.
  package static func url(environment: [String: String] = ProcessInfo.processInfo.environment) -> URL {
    dataHome(environment).appendingPathComponent(directoryName, isDirectory: true)
  }

  #if canImport(Darwin)
    private static func dataHome(_ environment: [String: String]) -> URL { URL.applicationSupportDirectory }
  #else
    /// The XDG Base Directory Specification ignores a relative path in the variable.
    private static func dataHome(_ environment: [String: String]) -> URL {
      if let path = environment["XDG_DATA_HOME"], path.hasPrefix("/") {
        return URL(fileURLWithPath: path, isDirectory: true)
      }
      return URL(fileURLWithPath: NSHomeDirectory(), isDirectory: true)
        .appendingPathComponent(".local/share", isDirectory: true)
    }
  #endif
}
