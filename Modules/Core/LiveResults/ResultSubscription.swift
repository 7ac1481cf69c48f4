import Synchronization

/// The undelivered states of a live result for one reader, merged into one.
final class ResultSubscription: ResultSink, Sendable {
  private struct State {
    /// The last delivered state; `nil` before the first delivery.
    var delivered: ResultState?
    /// The state to deliver; `nil` when the last one is delivered.
    var waiting: ResultState?
    /// The changes from the delivered state to the waiting one; `nil` when they are too many to be listed.
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
    // The context frees the result in its next turn.
    let confinement = context.storage.confinement
    confinement.submit { [handle] in handle.context?.insideAlone {} }
  }

  func receive(_ delivery: ResultDelivery, in context: ManagedObjectContext) {
    let waiter = state.withLock { state in
      state.waiting = delivery.state
      state.touched?.add(delivery.touched)
      // Records that came since the last delivery have no former place, so that their number makes no difference.
      for (former, id) in delivery.renamed where state.touched?.isFormer(former) == true { state.renamed[former] = id }
      let known = (state.delivered?.entries.count ?? 0) + delivery.state.entries.count
      if let count = state.touched?.count, count > known + LiveInbox.bound { state.touched = nil }
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

  /// Waits for a state that was not delivered yet. Returns `nil` in a cancelled task and after the end.
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
          // An earlier cancellation is detected here; a later one finds the continuation.
          guard state.waiting == nil, !state.isEnded, !Task.isCancelled else { return continuation }
          defer { state.waiter = continuation }
          return state.waiter
        }
        former?.resume()
      }
    } onCancel: {
      state.withLock { $0.waiter.take() }?.resume()
    }
  }
}

/// The states and changes from which a difference is made.
struct ResultDifferenceSource: Sendable {
  /// `nil` for the first delivery.
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
