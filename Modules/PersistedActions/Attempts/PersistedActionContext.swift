public import CoherenceActions
public import CoherenceCore
public import CoherenceStrategies
public import Foundation
import Synchronization

/// One attempt of a persisted action: describes the attempt, and saves its checkpoints, progress and work. May be used
/// from any thread until the action's ``PersistedAction/run(in:)`` returns.
public final class PersistedActionContext: Sendable {
  /// The handle of the action.
  public var handle: PersistedActionHandle { claim.handle }
  /// The number of the attempt; the first is 1. An attempt whose process ended counts too.
  public var attempt: Int { claim.attempt }
  /// The date at which the action was enqueued, by the clock of the program that enqueued it.
  public var enqueuedDate: Date { claim.enqueuedDate }
  /// The earliest date for this attempt.
  public var dueDate: Date { claim.dueDate }
  /// The name of the action's schedule; `nil` without a schedule.
  public var scheduleName: String? { claim.scheduleName }
  /// The store of the action; `nil` after the detachment of the store. With several stores, assign the new records of
  /// ``commit(_:)`` and ``checkpoint(_:saving:)`` to this store, so that one transaction has them and the action; see
  /// `ManagedObjectContext.assign(_:to:)`. May be read on any thread.
  public var store: (any PersistentStore)? {
    claim.recordID.storeIdentifier.flatMap { repository.coordinator.persistentStore(with: $0) }
  }

  let claim: ActionClaim
  let repository: WorkerRepository
  private let container: any PersistentContainer
  private let date: @Sendable () -> Date
  private let onProgress: @Sendable (ReportedProgress) -> Void
  private let state: Mutex<State>

  private struct State {
    var isCanceled = false
    /// The task of the attempt; `nil` until the action's first suspension, because the task is known only then.
    var task: Task<Void, any Error>?
    var checkpoint: Data?
    var result: Data?
    var progress: ReportedProgress?
    /// The latest progress in the store.
    var storedProgress: ReportedProgress?
    /// The event of the completion that `commit` has saved.
    var commitEvent: PersistedActionEvent?
    /// The error of the latest save of the action's record whose outcome is unknown.
    var unknownSave: CoherenceError?
  }

  init(
    _ claim: ActionClaim, repository: WorkerRepository, container: any PersistentContainer,
    date: @escaping @Sendable () -> Date, onProgress: @escaping @Sendable (ReportedProgress) -> Void
  ) {
    self.claim = claim
    self.repository = repository
    self.container = container
    self.date = date
    self.onProgress = onProgress
    state = Mutex(State(checkpoint: claim.checkpoint))
  }

  // MARK: Contexts

  /// Makes a background context of the container, for reading, and for saves before the completion.
  public func newContext() -> BackgroundContext { container.newBackgroundContext() }

  /// Makes a context for merges of records from another source, such as a server. Works only if the worker's container
  /// is a `Connect`. Its saves go to the stores that are attached at the time of the save: stop the worker before the
  /// store of a user is detached.
  ///
  /// - Throws: ``ErrorCode/illegalState`` for any other container; ``ErrorCode/storeDetached`` after the detachment of the
  ///   action's store, because the store of another user may have taken its place.
  public func newActionContext() throws -> ActionContext {
    guard let connect = container as? any ActionContextMaking else {
      throw CoherenceError(
        .illegalState,
        "The worker's container is not a Connect, and only contexts of a Connect can merge; make the worker with a "
          + "Connect.")
    }
    guard store != nil else {
      throw CoherenceError(
        .storeDetached,
        "The store of the action '\(handle.name)' was detached, and the records of the action belong to no other store; "
          + "stop the worker before the store is detached.")
    }
    return connect.newActionContext()
  }

  // MARK: Cancellation

  /// Whether the attempt should end: the action was cancelled, another worker has taken the action over, or this worker
  /// stops and hands the action back. The task of the action is cancelled at the same time.
  public var isCanceled: Bool { state.withLock { $0.isCanceled } }

  func cancel() {
    let task = state.withLock { state in
      state.isCanceled = true
      return state.task
    }
    task?.cancel()
  }

  /// Sets the task of the attempt, for ``cancel()``. Cancels the task if the attempt is already cancelled.
  func attach(_ task: Task<Void, any Error>) {
    let isCanceled = state.withLock { state in
      state.task = task
      return state.isCanceled
    }
    if isCanceled { task.cancel() }
  }

  // MARK: Checkpoints

  /// The value of the latest checkpoint, of this attempt or an earlier one; `nil` for none.
  ///
  /// - Throws: Errors of decoding the value.
  public func lastCheckpoint<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value? {
    try state.withLock { $0.checkpoint }.map { try JSONDecoder().decode(Value.self, from: $0) }
  }

  /// Saves a value from which a later attempt can continue, in a transaction of its own.
  ///
  /// - Throws: Errors of encoding the value; ``ErrorCode/leaseLost``; errors of the save. After a save whose outcome is
  ///   unknown, an action that throws the error gets another attempt, from the checkpoint that the store has.
  public func checkpoint(_ value: some Encodable & Sendable) async throws {
    let data = try JSONEncoder().encode(value)
    let progress = state.withLock { $0.progress }
    do {
      try await repository.update(claim) { record in
        record.checkpoint = data
        progress?.write(to: record)
      }
    } catch {
      throw notingUnknownOutcome(of: error)
    }
    noteStored(data, progress)
  }

  /// Saves changes of records and a checkpoint in one transaction, so that a later attempt does not repeat the changes.
  ///
  /// - Parameters:
  ///   - value: The value from which a later attempt can continue.
  ///   - body: Changes records, in a new background context of the container. The context is saved afterwards, with the
  ///     merge policy that the block has set.
  /// - Returns: The result of the block.
  /// - Throws: Errors of the block and of encoding the value; `CancellationError` for a cancelled action;
  ///   ``ErrorCode/leaseLost``; errors of the save. Nothing was saved then, except by a save whose outcome is unknown: an
  ///   action that throws the error gets another attempt, from the checkpoint that the store has.
  @discardableResult
  public func checkpoint<T: Sendable>(
    _ value: some Encodable & Sendable, saving body: @escaping @Sendable (ManagedObjectContext) throws -> T
  ) async throws -> T {
    let data = try JSONEncoder().encode(value)
    let progress = state.withLock { $0.progress }
    let context = container.newBackgroundContext()
    let result = try await context.perform { [self] in
      let result = try body(context)
      try save(in: context) { record in
        record.checkpoint = data
        progress?.write(to: record)
      }
      return result
    }
    noteStored(data, progress)
    return result
  }

  /// Notes the checkpoint and the progress that a save has written.
  private func noteStored(_ checkpoint: Data, _ progress: ReportedProgress?) {
    state.withLock { state in
      state.checkpoint = checkpoint
      state.storedProgress = progress
    }
  }

  /// Notes the progress that a heartbeat has saved.
  func noteStored(_ progress: ReportedProgress) { state.withLock { $0.storedProgress = progress } }

  // MARK: Result and progress

  /// Sets the result that ``PersistedActions/result(of:as:)`` returns after the action has succeeded. A later call
  /// replaces the result.
  ///
  /// - Throws: Errors of encoding the value.
  public func setResult(_ value: some Encodable & Sendable) throws {
    let data = try JSONEncoder().encode(value)
    state.withLock { $0.result = data }
  }

  /// Reports progress. An event is sent at once; the next checkpoint, heartbeat or completion saves the progress.
  ///
  /// - Parameters:
  ///   - completed: The number of finished units of work.
  ///   - total: The number of all units of work; zero while the number is not known.
  public func setProgress(_ completed: Int64, of total: Int64) {
    let progress = ReportedProgress(completed: completed, total: total)
    state.withLock { $0.progress = progress }
    onProgress(progress)
  }

  // MARK: Completion

  /// Saves changes of records and the success of the action in one transaction, so that the changes take effect exactly
  /// once. If the process ends before the commit, the store has neither, and the action runs again.
  ///
  /// The action is finished when the call returns; an error that the action throws afterwards is only logged. A second
  /// call throws. The records must be in the ``store`` of the action, because a save is atomic for each store only.
  ///
  /// - Parameter body: Changes records, in a new background context of the container. The context is saved afterwards,
  ///   with the merge policy that the block has set.
  /// - Returns: The result of the block.
  /// - Throws: Errors of the block; `CancellationError` for a cancelled action; ``ErrorCode/leaseLost`` when another
  ///   worker has taken the action over; ``ErrorCode/illegalState`` for a second call; errors of the save. Nothing was
  ///   saved then, except by a save whose outcome is unknown: an action that throws the error is finished if the store
  ///   has the commit, and gets another attempt otherwise.
  @discardableResult
  public func commit<T: Sendable>(
    _ body: @escaping @Sendable (ManagedObjectContext) throws -> T
  ) async throws -> T {
    let (result, progress, isCommitted) = state.withLock { ($0.result, $0.progress, $0.commitEvent != nil) }
    guard !isCommitted else {
      throw CoherenceError(.illegalState, "The action has committed its work already; commit once, at the end.")
    }
    let context = container.newBackgroundContext()
    let date = date()
    let (value, event) = try await context.perform { [self] in
      let value = try body(context)
      let event = try save(in: context) { record in
        let recording = AttemptRecording(repository: repository, context: context, date: date)
        record.result = result
        progress?.write(to: record)
        return try recording.end(record, as: .succeeded)
      }
      return (value, event)
    }
    state.withLock { $0.commitEvent = event }
    return value
  }

  // MARK: Saves of unknown outcome

  /// Saves the changes of a context and a change of the action's record in one transaction.
  private func save<T>(in context: ManagedObjectContext, _ change: (PersistedActionRecord) throws -> T) throws -> T {
    do {
      return try repository.save(claim, in: context, change)
    } catch {
      throw notingUnknownOutcome(of: error)
    }
  }

  /// Notes the error of a save of the action's record, if only the store of the action may have applied the save.
  ///
  /// - Returns: The error to throw. A noted error names the record, because a save of the program without the record may
  ///   fail with the same sentence, and must not be repeated.
  private func notingUnknownOutcome(of error: any Error) -> any Error {
    guard var noted = error as? CoherenceError, noted.outcome == .unknown,
      noted.outcomes.allSatisfy({ $0.value == .notApplied || $0.key == claim.recordID.storeIdentifier })
    else { return error }
    noted.objectIDs.append(claim.recordID)
    state.withLock { [noted] in $0.unknownSave = noted }
    return noted
  }

  /// Returns the error by which the action's type decides about another attempt.
  ///
  /// A save of the action's record whose outcome is unknown has no second effect in another attempt. The end of this
  /// attempt requires the version of the record that precedes the save. If the store has applied a commit, the record no
  /// longer runs under the claim, and the end is not saved; if it has applied a checkpoint, the next attempt begins there.
  /// After the end is saved, the store can no longer apply the save, even if the save is still on its way to a server.
  func deciding(_ error: any Error) -> any Error {
    guard var repeatable = error as? CoherenceError, repeatable.outcome == .unknown,
      let noted = state.withLock({ $0.unknownSave }), noted.code == repeatable.code,
      noted.message == repeatable.message, noted.outcomes == repeatable.outcomes,
      noted.objectIDs == repeatable.objectIDs
    else { return error }
    repeatable.outcome = .notApplied
    repeatable.isRetryable = true
    return repeatable
  }

  // MARK: For the worker

  /// The event of the completion that `commit` has saved; `nil` without a commit.
  var commitEvent: PersistedActionEvent? { state.withLock { $0.commitEvent } }
  var result: Data? { state.withLock { $0.result } }
  var progress: ReportedProgress? { state.withLock { $0.progress } }

  /// The latest progress; `nil` if the store has this progress already.
  var unstoredProgress: ReportedProgress? {
    state.withLock { $0.progress == $0.storedProgress ? nil : $0.progress }
  }
}

extension ReportedProgress {
  fileprivate func write(to record: PersistedActionRecord) {
    record.completedUnits = completed
    record.totalUnits = total
  }
}
