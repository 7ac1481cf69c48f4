import CoherenceActions
import CoherenceCore
import Foundation

// The records of schedules.

extension WorkerRepository {
  /// The accepted difference between the dates of machines, in seconds: a machine with a slow clock must not run a date
  /// of a schedule that another machine has run.
  static let clockDifference: TimeInterval = 3600

  /// Inserts the record of a schedule, or updates the record while it waits for its date. A record that waits for a
  /// worker gets the payload of the schedule only, a record with a checkpoint keeps its payload, and a record whose
  /// action runs or is retried keeps its values. A record with a date from before the clock was set back gets a date of
  /// the present.
  ///
  /// A record with a former name of the action keeps the name: a program with either name runs it, and a second record
  /// would run each date once more.
  ///
  /// A repository limited to some stores inserts no record, because another store may have the record.
  ///
  /// - Returns: Whether the record is up to date. If not, a call after the end of the present run updates the record.
  func ensureRecord(of schedule: PersistedSchedule, at date: Date) async throws -> Bool {
    let payload = try schedule.encode()
    let (entity, isLimited) = (actions.entity, actions.stores != nil)
    return try await changing { context in
      let key = PersistedActionRecord.key(ofSchedule: schedule.name)
      let request = Records().inWritableStores().filter {
        $0.name.isIn(schedule.actionNames) && $0.activeKey == key
      }
      let found = try context.fetch(request)
      if let record = found.first(where: { $0.name == schedule.actionName }) ?? found.first {
        // Two programs with different names may each have inserted a record.
        for other in found where other !== record && other.state == .scheduled && other.attempts == 0 {
          context.delete(other)
        }
        if record.state == .scheduled, let present = record.presentDate(by: schedule.schedule, at: date) {
          record.schedule(for: present)
          context.signalOnSave(ActionChannel.due)
        }
        if record.update(to: schedule, payload, at: date) { context.signalOnSave(ActionChannel.due) }
        return record.waitsForFirstAttempt || record.hasValues(of: schedule, payload)
      }
      guard !isLimited else { return false }
      guard let next = schedule.schedule.nextDate(after: date) else { return true }
      let record = PersistedActionRecord(entity: entity, insertInto: context)
      record.identifier = .random()
      record.name = schedule.actionName
      record.queue = schedule.queue
      record.payload = payload
      record.key = key
      record.activeKey = key
      record.priority = Int16(schedule.priority.rawValue)
      record.enqueuedDate = date
      record.scheduleName = schedule.name
      record.scheduleText = schedule.schedule.description
      record.schedule(for: next)
      return true
    }
  }
}

extension PersistedActionRecord {
  /// Returns the date of a schedule's record in place of a date from before the clock was set back; `nil` for a date
  /// that the present clock can have given.
  ///
  /// A failed or postponed run becomes due at once. Only its start shows the change of the clock, because an action may
  /// postpone itself to any date.
  fileprivate func presentDate(by schedule: Schedule, at date: Date) -> Date? {
    let limit = date.addingTimeInterval(WorkerRepository.clockDifference)
    if let startedDate { return startedDate > limit ? date : nil }
    guard let latest = schedule.latestNextDate(after: limit), dueDate > latest else { return nil }
    return schedule.nextDate(after: date)
  }

  /// Whether a schedule's record waits for its date, and no attempt has begun that needs its values.
  fileprivate var waitsForFirstAttempt: Bool { state == .scheduled && attempts == 0 && checkpoint == nil }

  /// Updates a schedule's record, unless its action runs or is retried.
  ///
  /// - Returns: Whether the record has another date.
  fileprivate func update(to schedule: PersistedSchedule, _ newPayload: Data, at date: Date) -> Bool {
    guard state == .scheduled || state == .waiting, attempts == 0 else { return false }
    // The checkpoint of a postponed or handed back run belongs to the payload with which the run began.
    if checkpoint == nil, payload != newPayload { payload = newPayload }
    // The date of a waiting run has come already.
    guard state == .scheduled else { return false }
    if queue != schedule.queue { queue = schedule.queue }
    let newPriority = Int16(schedule.priority.rawValue)
    if priority != newPriority { priority = newPriority }
    let text = schedule.schedule.description
    guard scheduleText != text, let next = schedule.schedule.nextDate(after: date) else { return false }
    scheduleText = text
    self.schedule(for: next)
    return true
  }

  /// Whether the record has the values of its schedule already.
  fileprivate func hasValues(of schedule: PersistedSchedule, _ newPayload: Data) -> Bool {
    payload == newPayload && queue == schedule.queue && priority == Int16(schedule.priority.rawValue)
      && scheduleText == schedule.schedule.description
  }
}
