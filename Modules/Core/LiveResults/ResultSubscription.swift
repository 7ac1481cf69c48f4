import Synchronization

/// Keeps the newest undelivered state of a live result for one reader, with all changes since the last delivery.
final class ResultSubscription: ResultSink, Sendable {
  private struct State {
    /// The last delivered state; `nil` before the first delivery.
    var delivered: ResultState?
    /// The newest state, if the reader does not have it yet.
    var waiting: ResultState?
    /// The changes from the delivered state to the waiting state; `nil` for too many changes to list, so that the
    /// states are compared.
    var touched: TouchedEntries? = TouchedEntries()
    var renamed: [ManagedObjectID: ManagedObjectID] = [:]
    var isEnded = false
    var error: (any Error)?
    var waiter: CheckedContinuation<Void, Never>?
  }

  private let state = Mutex(State())
  private let handle: ContextHandle

  init(_ handle: ContextHandle) { self.handle = handle }

  deinit {
    guard let context = handle.context, !context.storage.confinement.isOfThread else { return }
    // The turn lets the context release the result of this subscription.
    let confinement = context.storage.confinement
    confinement.submit { [handle] in handle.context?.insideAlone {} }
  }

  func receive(_ delivery: ResultDelivery, in context: ManagedObjectContext) {
    let waiter = state.withLock { state in
      state.waiting = delivery.state
      state.touched?.add(delivery.touched)
      // The new identifier matters only for records of the delivered state: the reader does not know the temporary
      // identifiers of later records.
      for (former, id) in delivery.renamed where state.touched?.isFormer(former) == true { state.renamed[former] = id }
      // A comparison of both states is cheaper than a longer list of changes, and takes no memory.
      let entryCount = (state.delivered?.entries.count ?? 0) + delivery.state.entries.count
      if let count = state.touched?.count, count > entryCount + LiveInbox.bound { state.touched = nil }
      return state.waiter.take()
    }
    waiter?.resume()
  }

  func end(_ error: (any Error)?) {
    let waiter = state.withLock { state in
      state.isEnded = true
      state.error = error
      return state.waiter.take()
    }
    waiter?.resume()
  }

  /// Waits for an undelivered state. Returns `nil` in a cancelled task and after the end.
  ///
  /// - Throws: The error that ended the result, once.
  func next() async throws -> ResultDifferenceSource? {
    while !Task.isCancelled {
      let (taken, isEnded) = try state.withLock { state -> (ResultDifferenceSource?, Bool) in
        if let waiting = state.waiting {
          defer {
            (state.delivered, state.waiting) = (waiting, nil)
            (state.touched, state.renamed) = (TouchedEntries(), [:])
          }
          return (
            ResultDifferenceSource(
              former: state.delivered, current: waiting, touched: state.touched, renamed: state.renamed), false
          )
        }
        if let error = state.error.take() { throw error }
        return (nil, state.isEnded)
      }
      if taken != nil || isEnded { return taken }
      await wait()
    }
    return nil
  }

  private func wait() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let former = state.withLock { state -> CheckedContinuation<Void, Never>? in
          // The check detects an earlier cancellation; a later cancellation finds the stored continuation.
          guard state.waiting == nil, !state.isEnded, !Task.isCancelled else { return continuation }
          defer { state.waiter = continuation }
          return state.waiter
        }
        // Each continuation must be resumed, also if two tasks share the reader against the rules.
        former?.resume()
      }
    } onCancel: {
      state.withLock { $0.waiter.take() }?.resume()
    }
  }
}

/// The states and changes from which a difference is made.
struct ResultDifferenceSource: Sendable {
  /// The state of the previous delivery; `nil` for the first delivery.
  let former: ResultState?
  let current: ResultState
  let touched: TouchedEntries?
  let renamed: [ManagedObjectID: ManagedObjectID]

  var difference: ResultDifference {
    let former = former ?? .empty(like: current)
    return ResultDifference(
      from: former, to: current, touched ?? TouchedEntries(comparing: former, current), renamed: renamed)
  }
}
