import CoherenceActions
import CoherenceCore
import Foundation
import Synchronization

/// The waits of ``PersistedActions/untilFinished(_:)``, with one listener for all of them.
///
/// The end of an action is a signal without the identifier of the action. After a signal the listener reads the
/// finished actions among all awaited ones, with two statements for some hundred of them: a read in a context of its
/// own by each wait costs much more. Signals during a read lead to one further read.
final class FinishWaits: Sendable {
  private struct Wait {
    let handle: PersistedActionHandle
    let result = CancellableWait<PersistedActionInfo>()
  }

  private struct State {
    var waits: [Int: Wait] = [:]
    /// The number of the last wait.
    var lastNumber = 0
    /// The listener; `nil` without waits.
    var listener: Task<Void, Never>?
  }

  private typealias Records = ActionRepository.Records

  private let repository: ActionRepository
  private let state = Mutex(State())

  init(_ repository: ActionRepository) { self.repository = repository }

  /// Waits until an action has finished; see ``PersistedActions/untilFinished(_:)``.
  func untilFinished(_ handle: PersistedActionHandle) async throws -> PersistedActionInfo {
    try Task.checkCancellation()
    let wait = Wait(handle: handle)
    let number = add(wait)
    defer { remove(number) }
    // The wait is added first: a later end of the action is a signal for the listener, or precedes the first signal,
    // which comes when the store is listened to.
    let info = try await repository.inContext { PersistedActionInfo(try PersistedActions.existing(handle, in: $0)) }
    if info.state.isFinal { return info }
    let result = wait.result
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { result.suspend($0) }
    } onCancel: {
      result.resume(with: .failure(CancellationError()))
    }
  }

  // MARK: The listener

  /// Adds a wait, and starts the listener with the first one.
  ///
  /// - Returns: The number of the wait.
  private func add(_ wait: Wait) -> Int {
    state.withLock { state in
      state.lastNumber += 1
      state.waits[state.lastNumber] = wait
      if state.listener == nil { state.listener = Task.detached { await self.listen() } }
      return state.lastNumber
    }
  }

  /// Removes a wait, and stops the listener with the last one.
  private func remove(_ number: Int) {
    let listener = state.withLock { state -> Task<Void, Never>? in
      state.waits[number] = nil
      guard state.waits.isEmpty else { return nil }
      defer { state.listener = nil }
      return state.listener
    }
    listener?.cancel()
  }

  private func listen() async {
    for await _ in repository.coordinator.signals(ActionChannel.finished) {
      let waits = state.withLock { Array($0.waits.values) }
      do {
        let ends = try await repository.inContext { try Self.ends(of: waits.map(\.handle), in: $0) }
        for wait in waits { if let end = ends[wait.handle] { wait.result.resume(with: end) } }
      } catch {
        // A stopped listener has no waits: later ones belong to another listener.
        if Task.isCancelled { return }
        for wait in waits { wait.result.resume(with: .failure(error)) }
      }
    }
    if Task.isCancelled { return }
    let error = CoherenceError(
      .storeDetached, "The container was released while an action was awaited; keep the container.")
    for wait in state.withLock({ Array($0.waits.values) }) { wait.result.resume(with: .failure(error)) }
  }

  // MARK: Inside of a context

  /// The greatest number of actions that a statement names.
  private static let batchSize = 500

  /// The finished actions among some, and the errors for handles without an action. Unfinished actions are left out.
  private static func ends(
    of handles: [PersistedActionHandle], in context: ManagedObjectContext
  ) throws -> [PersistedActionHandle: Result<PersistedActionInfo, any Error>] {
    // Several calls may wait for one action.
    let handles = Array(Set(handles))
    var ends: [PersistedActionHandle: Result<PersistedActionInfo, any Error>] = [:]
    for start in stride(from: 0, to: handles.count, by: batchSize) {
      let batch = handles[start..<min(start + batchSize, handles.count)]
      let ids = batch.map(\.id)
      let awaited = Records().filter { $0.identifier.isIn(ids) }
      let finished = try context.fetch(awaited.filter { $0.state.isIn(finalStates) })
      let infos = Dictionary(finished.map { ($0.identifier, PersistedActionInfo($0)) }) { first, _ in first }
      for handle in batch { if let info = infos[handle.id] { ends[handle] = .success(info) } }
      let unfinished = awaited.filter { $0.state.isIn(unfinishedStates) }
      guard try finished.count + context.count(for: unfinished) < batch.count else { continue }
      let present = Set(try context.fetch(unfinished).map(\.identifier))
      for handle in batch where infos[handle.id] == nil && !present.contains(handle.id) {
        ends[handle] = try end(withoutRecord: handle, in: context)
      }
    }
    return ends
  }

  private static let finalStates = PersistedActionState.final.map(\.rawValue)
  private static let unfinishedStates = PersistedActionState.allCases.filter { !$0.isFinal }.map(\.rawValue)

  /// The end of the equal action that a handle without a record of its own stands for; `nil` for an unfinished one.
  private static func end(
    withoutRecord handle: PersistedActionHandle, in context: ManagedObjectContext
  ) throws -> Result<PersistedActionInfo, any Error>? {
    do {
      let info = PersistedActionInfo(try PersistedActions.existing(handle, in: context))
      return info.state.isFinal ? .success(info) : nil
    } catch  where ErrorCode.objectNotFound ~= error {
      return .failure(error)
    }
  }
}
