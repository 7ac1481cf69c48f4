import Synchronization

/// Passes the changes of a coordinator's saves to receivers, in the order of the commits.
///
/// Saves that overlap in time may be posted in another order than the stores committed them. The hub marks the changes
/// of such saves as overlapped, so that receivers read the rows again instead of using the posted rows.
final class StoreEventHub: Sendable {
  private struct Entry { weak var receiver: (any StoreEventReceiver)? }

  private struct State {
    /// The receivers, by their addresses, so that the cost of adding and removing one does not grow with their number.
    var entries: [ObjectIdentifier: Entry] = [:]
    /// The number of running saves.
    var running = 0
    /// The number of saves begun so far.
    var begun = 0
  }

  /// A running save.
  struct RunningSave {
    fileprivate let number: Int
    /// Whether no other save ran when this save began.
    fileprivate let wasAlone: Bool
  }

  private let state = Mutex(State())
  /// Held from the decision whether a save overlapped others to the end of its delivery. Without the lock, a save that
  /// begins in between could deliver its changes first, and receivers would take the earlier save's rows for the newer
  /// ones.
  private let delivery = Mutex(())
  private let hasReceivers = Atomic<Bool>(false)
  /// The number of running saves, for reads without the lock.
  private let runningCount = Atomic<Int>(0)

  /// Whether changes are worth collecting. Costs the read of one word.
  var isObserved: Bool { hasReceivers.load(ordering: .acquiring) }

  /// Whether a save runs, from before its commit until the contexts that follow have its changes.
  /// Costs the read of one word.
  var isSaving: Bool { runningCount.load(ordering: .acquiring) > 0 }

  /// Adds a receiver without retaining it. Adding it twice does nothing.
  func add(_ receiver: any StoreEventReceiver) {
    state.withLock { state in
      // Entries of released receivers are removed before an insertion that would grow the table.
      if state.entries.count == state.entries.capacity {
        state.entries = state.entries.filter { $0.value.receiver != nil }
      }
      state.entries[ObjectIdentifier(receiver)] = Entry(receiver: receiver)
      hasReceivers.store(true, ordering: .releasing)
    }
  }

  func remove(_ receiver: any StoreEventReceiver) {
    state.withLock { state in
      state.entries[ObjectIdentifier(receiver)] = nil
      hasReceivers.store(!state.entries.isEmpty, ordering: .releasing)
    }
  }

  /// Records that a save begins to write. The caller ends it with ``end(_:_:)``, also after a failure.
  func begin() -> RunningSave {
    runningCount.add(1, ordering: .acquiringAndReleasing)
    return state.withLock { state in
      state.running += 1
      state.begun += 1
      return RunningSave(number: state.begun, wasAlone: state.running == 1)
    }
  }

  /// Ends a running save, and delivers its changes.
  ///
  /// A save that begins before the delivery ends is marked as overlapped, and is delivered later.
  ///
  /// - Parameter changes: The changes; `nil` for unknown changes, because no receiver existed at the beginning of the
  ///   save, or because the outcome of the save is unknown.
  func end(_ save: RunningSave, _ changes: StoreChanges?) {
    var changes = changes
    changes?.noteRoots()
    delivery.withLock { _ in deliver(save, changes) }
  }

  /// Delivers the changes of a save. The caller has locked `delivery`.
  private func deliver(_ save: RunningSave, _ changes: StoreChanges?) {
    let (receivers, isOverlapped) = state.withLock { state in
      let receivers = state.entries.values.compactMap(\.receiver)
      if receivers.isEmpty { hasReceivers.store(false, ordering: .releasing) }
      return (receivers, !save.wasAlone || save.number != state.begun)
    }
    if var changes {
      changes.isOverlapped = isOverlapped
      if !changes.isEmpty { for receiver in receivers { receiver.receive(.changed(changes)) } }
    } else {
      // A receiver added during the save may have read the stores before the commit.
      for receiver in receivers { receiver.receive(.everything) }
    }
    state.withLock { $0.running -= 1 }
    runningCount.subtract(1, ordering: .acquiringAndReleasing)
  }

  /// Passes an event other than a save to all receivers.
  func post(_ event: StoreEvent) {
    for receiver in state.withLock({ $0.entries.values.compactMap(\.receiver) }) { receiver.receive(event) }
  }
}
