import CoherenceActions
import CoherenceCore
import Foundation

// The heartbeats of workers, and the actions of workers without heartbeats.

/// A claim of a running action, with the heartbeat number of its worker, see ``ActionWorkerRecord/beats``.
///
/// A reader that finds equal values at two times, one lease apart, knows that the worker has stopped. The reader
/// measures this interval with its own clock, so that clocks of other processes cannot mislead it.
struct ObservedClaim: Sendable, Hashable {
  /// The token of the claim.
  let lease: UUID
  let worker: UUID?
  /// The heartbeat number of the worker. -1 for a claim that no heartbeat keeps alive: the worker has no record, or
  /// the reading worker does not know this claim of its own.
  let beats: Int64
}

/// A worker with its heartbeat number, see ``ActionWorkerRecord/beats``.
struct ObservedWorker: Sendable, Hashable {
  let worker: UUID
  let beats: Int64
}

/// A running action of this worker, as read from the store.
struct OwnAction: Sendable {
  let recordID: ManagedObjectID
  let lease: UUID?
  let isCancelRequested: Bool
}

extension WorkerRepository {
  private typealias Workers = FetchRequest<ActionWorkerRecord>

  // MARK: Heartbeats

  /// Saves a heartbeat. Inserts the record of the worker before its first heartbeat, and after another worker has
  /// deleted the record.
  func beat(at date: Date) async throws {
    let repository = self
    try await changing { context in
      let workers = try context.fetch(Workers().filter { $0.identifier == repository.worker }.limit(1))
      if let record = workers.first {
        record.beats += 1
        record.beatDate = date
        return
      }
      let record = try ActionWorkerRecord(context: context)
      record.identifier = repository.worker
      record.name = repository.workerName
      // A new record must not repeat a number of a deleted record: an observer that reads both would miss the
      // heartbeat.
      record.beats = Int64.random(in: 0..<1 << 48)
      record.startedDate = date
      record.beatDate = date
    }
  }

  /// Deletes the record of the worker. Call it when the worker has no claimed actions.
  func removeWorker() async throws {
    try await changing { [worker] context in
      for record in try context.fetch(Workers().filter { $0.identifier == worker }) { context.delete(record) }
    }
  }

  /// Fetches the running actions of the worker.
  func ownActions() async throws -> [OwnAction] {
    try await inContext { [worker] context in
      let request = Records().filter { $0.state == PersistedActionState.running.rawValue && $0.worker == worker }
      return try context.fetch(request).map {
        OwnAction(recordID: $0.objectID, lease: $0.lease, isCancelRequested: $0.isCancelRequested)
      }
    }
  }

  /// Saves the progress of running actions, except for actions whose lease was lost.
  func store(_ progress: [(claim: ActionClaim, progress: ReportedProgress)]) async throws {
    try await changing { context in
      let records = try Self.records(progress.map(\.claim.recordID), in: context)
      for (claim, progress) in progress {
        guard let record = records[claim.recordID], record.isRunning(under: claim) else { continue }
        record.completedUnits = progress.completed
        record.totalUnits = progress.total
      }
    }
  }

  // MARK: Workers without a heartbeat

  /// The greatest number of claims or workers of one read.
  private static let observationLimit = 4096

  /// Fetches the claims of running actions.
  ///
  /// - Parameter ownLeases: The tokens of the claims that this worker retains in memory, which are left out.
  func observedClaims(except ownLeases: Set<UUID>) async throws -> Set<ObservedClaim> {
    try await inContext { [queues, worker] context in
      let leases = ownLeases.map(UUID?.some)
      let request = Records().filter {
        $0.state == PersistedActionState.running.rawValue && $0.queue.isIn(queues) && !$0.lease.isIn(leases)
      }
      let running = try context.fetch(request.limit(Self.observationLimit))
      guard !running.isEmpty else { return [] }
      let ids = Set(running.compactMap(\.worker))
      let records = try context.fetch(Workers().filter { $0.identifier.isIn(ids) })
      let beats = Dictionary(records.map { ($0.identifier, $0.beats) }, uniquingKeysWith: max)
      return Set(
        running.compactMap { record in
          record.lease.map { lease in
            // The store can have a claim of this worker that the worker does not know, for example because the reply to
            // the commit was lost. The worker's heartbeats must not keep such a claim alive.
            let isOwn = record.worker == worker
            return ObservedClaim(
              lease: lease, worker: record.worker,
              beats: isOwn ? -1 : record.worker.flatMap { beats[$0] } ?? -1)
          }
        })
    }
  }

  /// Moves the actions of claims back to the waiting state, or parks actions without attempts left. Deletes the records
  /// of their workers.
  ///
  /// - Returns: An event for each action.
  func rescue(_ claims: Set<ObservedClaim>, at date: Date) async throws -> [PersistedActionEvent] {
    try await changing { [worker] context in
      let tokens = claims.map { UUID?.some($0.lease) }
      let request = Records().filter {
        $0.state == PersistedActionState.running.rawValue && $0.lease.isIn(tokens)
      }
      let recording = AttemptRecording(repository: self, context: context, date: date)
      let events = try context.fetch(request).map { try recording.rescue($0) }
      let stoppedWorkers = Set(claims.compactMap(\.worker)).subtracting([worker])
      for record in try context.fetch(Workers().filter { $0.identifier.isIn(stoppedWorkers) }) {
        context.delete(record)
      }
      return events
    }
  }

  /// Fetches the other workers without a running action.
  func idleWorkers() async throws -> Set<ObservedWorker> {
    try await inContext { [worker] context in
      let otherWorkers = try context.fetch(Workers().filter { $0.identifier != worker }.limit(Self.observationLimit))
      guard !otherWorkers.isEmpty else { return [] }
      let busy = try Self.busyWorkers(among: otherWorkers.map(\.identifier), in: context)
      return Set(
        otherWorkers.filter { !busy.contains($0.identifier) }
          .map { ObservedWorker(worker: $0.identifier, beats: $0.beats) })
    }
  }

  private static func busyWorkers(among ids: [UUID], in context: ManagedObjectContext) throws -> Set<UUID> {
    let request = Records().filter {
      $0.state == PersistedActionState.running.rawValue && $0.worker.isIn(ids.map(UUID?.some))
    }
    return Set(try context.fetch(request).compactMap(\.worker))
  }

  /// Deletes the records of workers that still have no running action and no new heartbeat. A deleted worker that lives
  /// inserts its record again with its next heartbeat.
  func deleteIdleWorkers(_ workers: Set<ObservedWorker>) async throws {
    try await changing { context in
      let records = try context.fetch(Workers().filter { $0.identifier.isIn(workers.map(\.worker)) })
      let busy = try Self.busyWorkers(among: records.map(\.identifier), in: context)
      for record in records where !busy.contains(record.identifier) {
        let observed = ObservedWorker(worker: record.identifier, beats: record.beats)
        if workers.contains(observed) { context.delete(record) }
      }
    }
  }

  // MARK: Schedules

  /// Inserts the record of a schedule, or updates the record while it waits for its date. A record whose action runs or
  /// is retried keeps its values.
  ///
  /// A record with a former name of the action keeps the name: a program with either name runs it, and a second record
  /// would run each date once more.
  func ensureRecord(of schedule: PersistedSchedule, at date: Date) async throws {
    let payload = try schedule.encode()
    let entity = actions.entity
    try await changing { context in
      let key = PersistedActionRecord.key(ofSchedule: schedule.name)
      let found = try context.fetch(Records().filter { $0.name.isIn(schedule.actionNames) && $0.activeKey == key })
      let text = schedule.schedule.description
      if let record = found.first(where: { $0.name == schedule.actionName }) ?? found.first {
        // Two programs with different names may each have inserted a record.
        for other in found where other !== record && other.state == .scheduled && other.attempts == 0 {
          context.delete(other)
        }
        guard record.state == .scheduled, record.attempts == 0 else { return }
        if record.payload != payload { record.payload = payload }
        if record.queue != schedule.queue { record.queue = schedule.queue }
        let priority = Int16(schedule.priority.rawValue)
        if record.priority != priority { record.priority = priority }
        guard record.scheduleText != text, let next = schedule.schedule.nextDate(after: date) else { return }
        record.scheduleText = text
        record.schedule(for: next)
        context.signalOnSave(ActionChannel.due)
        return
      }
      guard let next = schedule.schedule.nextDate(after: date) else { return }
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
      record.scheduleText = text
      record.schedule(for: next)
      context.signalOnSave(ActionChannel.due)
    }
  }
}
