import Foundation
import ThreadSanitizerSupport

extension KillStage {
  /// Whether the system has prepared processes. The runtime of the thread sanitizer cannot copy them.
  static var isAvailable: Bool {
    #if os(Linux)
      !thread_sanitizer_sees_mutexes()
    #else
      false
    #endif
  }

  /// The number of kills of forwarders.
  static let kills = ProcessInfo.processInfo.environment["COHERENCE_KILLS"].flatMap(Int.init) ?? 300

  /// The kinds of stores.
  static var places: [LedgerPlace] {
    let file = LedgerPlace(backend: .sqlite, url: URL(fileURLWithPath: "/"))
    return [file] + (LedgerPlace.server.map { [LedgerPlace(backend: .postgreSQL, url: $0)] } ?? [])
  }
}

extension LedgerPlace {
  /// Returns a new location for a store of the same kind.
  func `in`(_ directory: TemporaryDirectory) -> LedgerPlace {
    switch backend {
    case .sqlite: LedgerPlace(backend: .sqlite, url: directory.store)
    case .postgreSQL:
      LedgerPlace(
        backend: .postgreSQL, url: url, schema: "coherence_kill_\(UUID().uuidString.prefix(8))".lowercased())
    }
  }

  /// Removes the schema of a server.
  func removeSchema() {
    if backend == .postgreSQL { try? remove() }
  }
}
