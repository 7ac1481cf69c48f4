public import CoherenceActions
import CoherenceCore
import Foundation

/// An action that runs repeatedly, at the dates of a schedule.
///
/// The store has one record for each schedule, and one worker claims the record for each run. A date therefore leads to
/// one run with any number of workers. If several dates have passed without a running worker, a single run
/// replaces the missed runs, and the schedule continues from the present date. Each finished run has a record of its
/// own in the history.
///
/// A run is the last one if its worker does not list the schedule. The schedule then begins again when a worker with
/// the schedule starts, or when a store is attached to the container of such a worker. All workers of a queue should
/// therefore list the same schedules.
public struct PersistedSchedule: Sendable {
  /// The name, unique among the schedules of a program.
  public let name: String
  /// The dates.
  public let schedule: Schedule
  /// The name of the action.
  let actionName: String
  /// The name of the action and its former names: the record of the schedule may have any of them.
  let actionNames: [String]
  let queue: String
  let priority: ActionPriority
  let encode: @Sendable () throws -> Data

  /// Makes a schedule of an action.
  ///
  /// - Parameters:
  ///   - name: The name, unique among the schedules of a program.
  ///   - schedule: The dates.
  ///   - action: The action. Each run has the same properties.
  ///   - queue: The queue; by default the queue of the action's type.
  ///   - priority: The priority among waiting actions.
  public init<A: PersistedAction>(
    _ name: String, _ schedule: Schedule, _ action: A, queue: String? = nil, priority: ActionPriority = .normal
  ) {
    self.name = name
    self.schedule = schedule
    self.actionName = A.name
    self.actionNames = [A.name] + A.formerNames
    self.queue = queue ?? A.queue
    self.priority = priority
    self.encode = {
      let encoder = JSONEncoder()
      // Equal actions need equal payloads: a worker that starts compares the payload, and saves only a changed one.
      encoder.outputFormatting = .sortedKeys
      return try encoder.encode(action)
    }
  }
}
