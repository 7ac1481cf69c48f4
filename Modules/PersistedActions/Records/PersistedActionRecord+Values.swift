import CoherenceActions
import CoherenceCore
import Foundation

extension PersistedActionRecord {
  /// The state. A state that only a later version of the framework knows counts as parked.
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

  /// The number of the next attempt. A damaged record may have the greatest number, which has no successor.
  var nextAttempt: Int { attempts == .max ? .max : attempts + 1 }

  /// The maximum number of failures that a record keeps.
  private static let failureLimit = 10

  /// Counts a failed attempt and adds its error to the failures.
  func noteFailure(_ text: String, at date: Date) {
    attempts = nextAttempt
    var failures = failures
    failures.append(PersistedActionFailure(attempt: attempts, date: date, text: text))
    failuresText = try? JSONText.encode(Array(failures.suffix(Self.failureLimit)))
  }

  /// The retry policy from the action's enqueueing; `nil` for the policy of the action's type.
  var ownRetry: PersistedRetry? {
    get { retryText.flatMap { try? JSONText.decode(PersistedRetry.self, from: .string($0)) } }
    set { retryText = newValue.flatMap { try? JSONText.encode($0) } }
  }

  /// The handle of the action.
  var handle: PersistedActionHandle {
    PersistedActionHandle(id: identifier, name: name, uniqueKey: key, storeIdentifier: chosenStore)
  }

  /// The seconds by which one level of priority moves an action in its queue. An action that has waited longer by this
  /// time begins before an action of the next higher level, so that later actions cannot delay it for ever.
  private static let secondsForPriority: TimeInterval = 600

  /// Returns the action to its queue, scheduled for a future date, or waiting otherwise.
  func wait(from date: Date, now: Date) {
    if date > now { return schedule(for: date) }
    enter(.waiting, rank: Self.rank(of: actionPriority, from: date))
    dueDate = date
  }

  /// Returns the action to its queue as ``wait(from:now:)`` does, and has the save wake the workers.
  func requeue(from date: Date, now: Date) {
    wait(from: date, now: now)
    managedObjectContext?.signalOnSave(ActionChannel.due)
  }

  /// Returns the action to its queue, scheduled for a date, even for a date that this process considers reached: the
  /// clock of a worker decides.
  func schedule(for date: Date) {
    enter(.scheduled, rank: date)
    dueDate = date
  }

  /// Sets a state without a claim.
  private func enter(_ new: PersistedActionState, rank: Date) {
    state = new
    self.rank = rank
    worker = nil
    lease = nil
  }

  /// Returns the date by which waiting actions are sorted: the due date, later for a low priority and earlier for a
  /// high priority.
  private static func rank(of priority: ActionPriority, from date: Date) -> Date {
    date.addingTimeInterval(Double(ActionPriority.normal.rawValue - priority.rawValue) * secondsForPriority)
  }

  /// Ends the action, and frees its unique key for new actions.
  func finish(_ final: PersistedActionState, at date: Date) {
    enter(final, rank: date)
    finishedDate = date
    activeKey = nil
  }

  /// Whether the record belongs to a schedule and waits for the next date after each run. The record of a finished run
  /// has the schedule's name too, but not its key.
  var isRecurring: Bool { scheduleName.map { activeKey == Self.key(ofSchedule: $0) } ?? false }

  /// Returns the unique key of a schedule's recurring record.
  static func key(ofSchedule name: String) -> String { "schedule:\(name)" }

  /// Counts the actions in each of some states. The cost grows with the counted numbers.
  ///
  /// - Parameter records: The actions to count.
  /// - Returns: The numbers above zero.
  static func counts(
    of states: [PersistedActionState], among records: FetchRequest<PersistedActionRecord> = FetchRequest(),
    in context: ManagedObjectContext
  ) throws -> [PersistedActionState: Int] {
    var counts: [PersistedActionState: Int] = [:]
    for state in states {
      let count = try context.count(for: records.filter { $0.state == state.rawValue })
      if count > 0 { counts[state] = count }
    }
    return counts
  }
}
