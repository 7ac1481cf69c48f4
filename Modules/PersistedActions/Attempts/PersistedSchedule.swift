public import CoherenceActions
import CoherenceCore
import Foundation

/// An action that runs again and again, at the dates of a schedule.
///
/// The store has one record for each schedule, whichever number of workers know it: each date is run once. Dates that
/// were missed because no worker was running are run once together, and the next run follows by the schedule from then
/// on. Each run leaves a record of its own in the history.
///
/// A schedule that no worker knows any more ends after its next run.
public struct PersistedSchedule: Sendable {
  /// The name, unique among the schedules of a program.
  public let name: String
  /// The dates.
  public let schedule: Schedule
  /// The name of the action.
  let actionName: String
  let queue: String
  let priority: ActionPriority
  let encode: @Sendable () throws -> Data

  /// Makes a schedule of an action.
  ///
  /// - Parameters:
  ///   - name: The name, unique among the schedules of a program.
  ///   - schedule: The dates.
  ///   - action: The action, whose properties are the same for each run.
  ///   - queue: The queue; by default the queue of the action's type.
  ///   - priority: The priority among waiting actions.
  public init<A: PersistedAction>(
    _ name: String, _ schedule: Schedule, _ action: A, queue: String? = nil, priority: ActionPriority = .normal
  ) {
    self.name = name
    self.schedule = schedule
    self.actionName = A.name
    self.queue = queue ?? A.queue
    self.priority = priority
    self.encode = {
      let encoder = JSONEncoder()
      // Equal actions have equal payloads, so that a worker that starts writes only changes.
      encoder.outputFormatting = .sortedKeys
      return try encoder.encode(action)
    }
  }
}
