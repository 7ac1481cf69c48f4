import CoherenceActions
import CoherenceCore
import Foundation

extension PersistedActionRecord {
  /// The state; a state of a later version of the framework counts as parked.
  var state: PersistedActionState {
    get { PersistedActionState(rawValue: stateText) ?? .parked }
    set { stateText = newValue.rawValue }
  }

  var actionPriority: ActionPriority { ActionPriority(rawValue: Int(priority)) ?? .normal }

  /// The latest failures, the oldest first.
  var failures: [PersistedActionFailure] {
    guard let failuresText else { return [] }
    return (try? JSONText.decode([PersistedActionFailure].self, from: .string(failuresText))) ?? []
  }

  /// The number of failures that a record keeps.
  private static let failureLimit = 10

  /// Counts an attempt that has failed and notes its error.
  func noteFailure(_ text: String, at date: Date) {
    attempts += 1
    var failures = failures
    failures.append(PersistedActionFailure(attempt: attempts, date: date, text: text))
    failuresText = try? JSONText.encode(Array(failures.suffix(Self.failureLimit)))
  }

  /// The retry policy that was given when the action was enqueued.
  var ownRetry: PersistedRetry? {
    get { retryText.flatMap { try? JSONText.decode(PersistedRetry.self, from: .string($0)) } }
    set { retryText = newValue.flatMap { try? JSONText.encode($0) } }
  }

  /// The handle of the action.
  var handle: PersistedActionHandle { PersistedActionHandle(id: identifier, name: name, uniqueKey: key) }

  /// Each level of priority is worth this much waiting, so that no action waits for ever behind later ones.
  private static let secondsForPriority: TimeInterval = 600

  /// Has the action wait for a worker, from a date on.
  func wait(from date: Date, now: Date) {
    dueDate = date
    rank = Self.rank(of: actionPriority, from: date)
    state = date > now ? .scheduled : .waiting
    worker = nil
    lease = nil
  }

  static func rank(of priority: ActionPriority, from date: Date) -> Date {
    date.addingTimeInterval(Double(ActionPriority.normal.rawValue - priority.rawValue) * secondsForPriority)
  }

  /// Ends the action. Another action with its key may be enqueued from now on.
  func finish(_ final: PersistedActionState, at date: Date) {
    state = final
    finishedDate = date
    activeKey = nil
    worker = nil
    lease = nil
  }

  /// Whether the record returns to its schedule after each run.
  var isRecurring: Bool { scheduleName.map { activeKey == Self.key(ofSchedule: $0) } ?? false }

  /// The unique key of the record that stands for a schedule.
  static func key(ofSchedule name: String) -> String { "schedule:\(name)" }

  /// The number of actions in each state that has any.
  static func counts(in context: ManagedObjectContext) throws -> [PersistedActionState: Int] {
    var counts: [PersistedActionState: Int] = [:]
    for state in PersistedActionState.allCases {
      let count = try context.count(for: FetchRequest(PersistedActionRecord.self).filter { $0.state == state.rawValue })
      if count > 0 { counts[state] = count }
    }
    return counts
  }
}
