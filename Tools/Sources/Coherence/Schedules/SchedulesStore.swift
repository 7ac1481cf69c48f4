import CoherenceCore
import CoherencePersistedActions
import CoherenceRefresh
import Foundation

/// The schedules and statuses of refreshes of an open store.
struct SchedulesStore {
  private let store: OpenStore
  /// `nil` in a store without persisted actions.
  private let actions: PersistedActions?

  init(_ arguments: StoreArguments) throws {
    store = try OpenStore.open(arguments, .actions, .refreshes)
    actions = store.parts.contains(.actions) ? try PersistedActions(store.container) : nil
  }

  func schedules() async throws -> [PersistedActionInfo] { try await actions?.schedules() ?? [] }

  func refreshes() async throws -> [RefreshStatus] {
    guard store.parts.contains(.refreshes) else { return [] }
    return try await RefreshStatus.all(in: store.coordinator)
  }
}

extension PersistedActions {
  /// Returns the unfinished action of a schedule.
  ///
  /// - Throws: A `UsageError` for a name without a schedule.
  func schedule(_ name: String) async throws -> PersistedActionInfo {
    let all = try await schedules()
    if let found = all.first(where: { $0.scheduleName == name }) { return found }
    let names = all.compactMap(\.scheduleName).map { "'\($0)'" }.joined(separator: ", ")
    throw UsageError(
      "The store has no schedule '\(name)'; it has \(names.isEmpty ? "none" : names). A worker makes the record of a "
        + "schedule when it starts.")
  }
}

extension PersistedActionInfo {
  static let scheduleColumns = ["SCHEDULE", "ACTION", "QUEUE", "STATE", "NEXT", "DATES"]

  var scheduleCells: [String] {
    [scheduleName ?? "–", handle.name, queue, state.rawValue, dueDate.short, scheduleText ?? "–"]
  }
}

extension RefreshStatus {
  static let columns = ["REFRESH", "KIND", "SCOPE", "LAST", "SUCCEEDED", "FAILURES", "NEXT", "ERROR"]

  /// The present attempt, or else the result of the last one. An expired lease shows that the process of the attempt has
  /// died.
  var state: String {
    leaseEnd.map { $0 > Date() ? "running" : "interrupted" } ?? "\(lastSyncStatus)"
  }

  var cells: [String] {
    [
      name, type.rawValue, scope ?? "–", state,
      lastSyncTime?.short ?? "–", "\(failureCount)", nextAttemptTime?.short ?? "–", lastSyncError ?? "–",
    ]
  }

  var json: JSON {
    [
      "entity": .string(name), "kind": .string(type.rawValue), "scope": .text(scope),
      "lastStatus": .string("\(lastSyncStatus)"), "lastSuccess": .date(lastSyncTime),
      "lastAttempt": .date(lastAttemptTime), "lastError": .text(lastSyncError), "failures": .number(failureCount),
      "nextAttempt": .date(nextAttemptTime), "hasCursor": .bool(cursor != nil), "leaseEnd": .date(leaseEnd),
    ]
  }
}
