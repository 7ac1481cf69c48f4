import CoherenceActions
import CoherenceCore
import Foundation

/// The types of actions that a worker can run, and the schedules that the worker maintains.
struct ActionCatalog: Sendable {
  private let types: [String: ActionType]
  private let schedules: [String: PersistedSchedule]

  /// - Throws: ``ErrorCode/illegalState`` for two actions or two schedules with one name, and for a schedule whose
  ///   action is missing in the list.
  init(_ actions: [any PersistedAction.Type], schedules: [PersistedSchedule]) throws {
    var types: [String: ActionType] = [:]
    for action in actions {
      let type = Self.type(of: action)
      for name in [action.name] + action.formerNames {
        guard types.updateValue(type, forKey: name) == nil else {
          throw CoherenceError(.illegalState, "Two persisted actions have the name '\(name)'; give each its own name.")
        }
      }
    }
    var byName: [String: PersistedSchedule] = [:]
    for schedule in schedules {
      guard byName.updateValue(schedule, forKey: schedule.name) == nil else {
        throw CoherenceError(.illegalState, "Two schedules have the name '\(schedule.name)'; give each its own name.")
      }
      guard types[schedule.actionName] != nil else {
        throw CoherenceError(
          .illegalState,
          "The schedule '\(schedule.name)' runs the action '\(schedule.actionName)', which the worker does not know; "
            + "list the action's type.")
      }
    }
    self.types = types
    self.schedules = byName
  }

  /// The names of the known actions, former names included.
  var names: [String] { types.keys.sorted() }

  /// The schedules, sorted by name.
  var allSchedules: [PersistedSchedule] { schedules.values.sorted { $0.name < $1.name } }

  subscript(name: String) -> ActionType? { types[name] }

  /// Returns the next date of a record's schedule, with the text of the schedule.
  ///
  /// Returns `nil` if the record belongs to no schedule or only documents a finished run, if this worker does not know
  /// the schedule, and if the schedule has no later date.
  func nextRun(of record: PersistedActionRecord, after date: Date) -> (date: Date, text: String)? {
    guard record.isRecurring, let schedule = record.scheduleName.flatMap({ schedules[$0] }),
      schedule.actionNames.contains(record.name), let next = schedule.schedule.nextDate(after: date)
    else { return nil }
    return (next, schedule.schedule.description)
  }

  private static func type<A: PersistedAction>(of action: A.Type) -> ActionType { ActionType(action) }
}

/// A type-erased ``PersistedAction`` type.
struct ActionType: Sendable {
  typealias Body = @Sendable (PersistedActionContext) async throws -> Void

  let retry: PersistedRetry
  let isRetryable: @Sendable (any Error) -> Bool
  /// Decodes a payload, and returns the work of the action.
  let decode: @Sendable (Data) throws -> Body

  init<A: PersistedAction>(_ type: A.Type) {
    retry = A.retry
    isRetryable = { A.isRetryable($0) }
    let decoder = JSONDecoder()
    decode = { payload in
      let action = try decoder.decode(A.self, from: payload)
      return { try await action.run(in: $0) }
    }
  }
}
