import CoherenceActions
import CoherenceCore
import Foundation

// The heartbeats of workers, and the actions of workers without heartbeats.

/// A claim of a running action, with the heartbeat number of its worker, see ``ActionWorkerRecord/beats``.
///
/// A reader that finds equal values at two times, one lease apart, knows that the worker has stopped. The reader
/// measures this interval with its own clock, so that clocks of other processes cannot mislead it.
struct ObservedClaim: Sendable, Hashable {
  /// The token of the claim. The claims of one read of a worker have one token, in all stores.
  let lease: UUID
  let store: StoreIdentifier?
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

  /// Saves a heartbeat in each store, because the process of another worker may have only one of the stores. A store
  /// that fails keeps no heartbeat from the other stores, so that the worker keeps its actions there.
  ///
  /// - Throws: The first error of a store.
  func beat(at date: Date) async throws {
    let (repository, stores) = (self, storesOfWorkers)
    var failure: (any Error)?
    for store in stores {
      do {
        try await beat(at: date, in: store)
      } catch {
        failure = failure ?? error
      }
    }
    if let failure { throw failure }
    // The save reports that the context has no store, or read-only ones alone.
    if stores.isEmpty { try await changing { _ = try repository.insertRecord(at: date, into: $0) } }
  }

  /// Saves a heartbeat in a store. Inserts the record of the worker before its first heartbeat, and after another
  /// worker has deleted the record.
  private func beat(at date: Date, in store: any PersistentStore) async throws {
    let repository = self
    try await changing { context in
      let workers = Workers().inStores([store.identifier]).filter { $0.identifier == repository.worker }
      if let record = try context.fetch(workers).first {
        // Other workers look for another number, and not for a greater one.
        record.beats &+= 1
        record.beatDate = date
      } else {
        try context.assign(repository.insertRecord(at: date, into: context), to: store)
      }
    }
  }

  /// The stores that can have records of workers.
  private var storesOfWorkers: [any PersistentStore] {
    coordinator.persistentStores.filter { store in
      !store.environment.isReadOnly && store.environment.entities.contains { $0.name == ActionWorkerRecord.entityName }
    }
  }

  private func insertRecord(at date: Date, into context: ManagedObjectContext) throws -> ActionWorkerRecord {
    let record = try ActionWorkerRecord(context: context)
    record.identifier = worker
    record.name = workerName
    // A new record must not repeat a number of a deleted record: an observer that reads both would miss the heartbeat.
    record.beats = Int64.random(in: 0..<1 << 48)
    record.startedDate = date
    record.beatDate = date
    return record
  }

  /// Deletes the records of the worker, in one store after the other. Call it when the worker has no claimed actions.
  ///
  /// - Throws: The first error of a store.
  func removeWorker() async throws {
    var failure: (any Error)?
    for store in storesOfActions {
      let repository = store.map { limited(to: [$0]) } ?? self
      do {
        try await repository.changing { [worker] context in
          let records = try context.fetch(Workers().inWritableStores().filter { $0.identifier == worker })
          for record in records { context.delete(record) }
        }
      } catch {
        failure = failure ?? error
      }
    }
    if let failure { throw failure }
  }

  /// Fetches the running actions of the worker in a store.
  func ownActions(in store: StoreIdentifier?) async throws -> [OwnAction] {
    try await inContext { [worker] context in
      let request = Self.records(in: store).filter {
        $0.state == PersistedActionState.running.rawValue && $0.worker == worker
      }
      return try context.fetch(request).map {
        OwnAction(recordID: $0.objectID, lease: $0.lease, isCancelRequested: $0.isCancelRequested)
      }
    }
  }

  /// Saves the progress of running actions of one store, except for actions whose lease was lost.
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

  /// Fetches the claims of running actions. If the repository is limited to some stores, the claims of workers without
  /// a record in the claim's store are left out: another store may have the record.
  ///
  /// - Parameter ownLeases: The tokens of the claims that this worker retains in memory, which are left out.
  func observedClaims(except ownLeases: Set<UUID>) async throws -> Set<ObservedClaim> {
    try await inContext { [queues, worker, isLimited = actions.stores != nil] context in
      let leases = ownLeases.map(UUID?.some)
      let request = Records().inWritableStores().filter {
        $0.state == PersistedActionState.running.rawValue && $0.queue.isIn(queues) && !$0.lease.isIn(leases)
      }
      let running = try context.fetch(request.limit(Self.observationLimit))
      guard !running.isEmpty else { return [] }
      let ids = Set(running.compactMap(\.worker))
      let workers = try context.fetch(Workers().inWritableStores().filter { $0.identifier.isIn(ids) })
      let workersByID = Dictionary(grouping: workers, by: \.identifier)
      return Set(
        running.compactMap { record in
          record.lease.flatMap { lease -> ObservedClaim? in
            // The store can have a claim of this worker that the worker does not know, for example because the reply to
            // the commit was lost. The worker's heartbeats must not keep such a claim alive.
            let isOwn = record.worker == worker
            let records = record.worker.flatMap { workersByID[$0] } ?? []
            let store = record.objectID.storeIdentifier
            if isLimited, !records.contains(where: { $0.objectID.storeIdentifier == store }) { return nil }
            return ObservedClaim(
              lease: lease, store: store, worker: record.worker,
              beats: isOwn ? -1 : Self.beats(for: record, in: records))
          }
        })
    }
  }

  /// The number of the heartbeats that keep a claim alive; -1 without a record of its worker.
  ///
  /// The record in the claim's store counts. A worker whose container has detached a store leaves a record there, whose
  /// number never changes again, and can neither keep nor end the claims of that store. A worker of an earlier release
  /// has a record in one store only.
  ///
  /// - Parameter records: The records of the claim's worker in all stores.
  private static func beats(for claim: PersistedActionRecord, in records: [ActionWorkerRecord]) -> Int64 {
    let store = claim.objectID.storeIdentifier
    return (records.first { $0.objectID.storeIdentifier == store } ?? records.first)?.beats ?? -1
  }

  /// Moves the actions of claims back to the waiting state, or parks actions without attempts left. Deletes the records
  /// of their workers in the stores of the claims: in another store the worker may live.
  ///
  /// - Returns: An event for each action.
  func rescue(_ claims: Set<ObservedClaim>, at date: Date) async throws -> [PersistedActionEvent] {
    try await changing { [worker] context in
      let tokens = claims.map { UUID?.some($0.lease) }
      let request = Records().inWritableStores().filter {
        $0.state == PersistedActionState.running.rawValue && $0.lease.isIn(tokens)
      }
      let recording = AttemptRecording(repository: self, context: context, date: date)
      let leasesByStore = Dictionary(grouping: claims, by: \.store).mapValues { Set($0.map(\.lease)) }
      let events = try context.fetch(request).filter { record in
        record.lease.map { leasesByStore[record.objectID.storeIdentifier]?.contains($0) == true } ?? false
      }.map { try recording.rescue($0) }
      let workersByStore = Dictionary(grouping: claims, by: \.store).mapValues { Set($0.compactMap(\.worker)) }
      let stoppedWorkers = Set(claims.compactMap(\.worker)).subtracting([worker])
      let workers = Workers().inWritableStores().filter { $0.identifier.isIn(stoppedWorkers) }
      for record in try context.fetch(workers)
      where workersByStore[record.objectID.storeIdentifier]?.contains(record.identifier) == true {
        context.delete(record)
      }
      return events
    }
  }

  /// Fetches the other workers without a running action.
  func idleWorkers() async throws -> Set<ObservedWorker> {
    try await inContext { [worker] context in
      let request = Workers().inWritableStores().filter { $0.identifier != worker }
      let otherWorkers = try context.fetch(request.limit(Self.observationLimit))
      guard !otherWorkers.isEmpty else { return [] }
      let busy = try Self.busyWorkers(among: otherWorkers.map(\.identifier), in: context)
      return Set(
        otherWorkers.filter { !busy.contains($0.identifier) }
          .map { ObservedWorker(worker: $0.identifier, beats: $0.beats) })
    }
  }

  private static func busyWorkers(among ids: [UUID], in context: ManagedObjectContext) throws -> Set<UUID> {
    let request = Records().inWritableStores().filter {
      $0.state == PersistedActionState.running.rawValue && $0.worker.isIn(ids.map(UUID?.some))
    }
    return Set(try context.fetch(request).compactMap(\.worker))
  }

  /// Deletes the records of workers that still have no running action and no new heartbeat. A deleted worker that lives
  /// inserts its record again with its next heartbeat.
  func deleteIdleWorkers(_ workers: Set<ObservedWorker>) async throws {
    try await changing { context in
      let request = Workers().inWritableStores().filter { $0.identifier.isIn(workers.map(\.worker)) }
      let records = try context.fetch(request)
      let busy = try Self.busyWorkers(among: records.map(\.identifier), in: context)
      for record in records where !busy.contains(record.identifier) {
        let observed = ObservedWorker(worker: record.identifier, beats: record.beats)
        if workers.contains(observed) { context.delete(record) }
      }
    }
  }
}
