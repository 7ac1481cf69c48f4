import Synchronization

/// The records whose unsaved state changed in a context, for the context's live results.
struct TouchedRecords: Sendable {
  private(set) var ids: Set<ManagedObjectID> = []
  /// The permanent identifiers of unsaved records by their former temporary identifiers.
  private(set) var renamed: [ManagedObjectID: ManagedObjectID] = [:]
  /// Whether the state of every record may have changed.
  var isEverything = false

  var isEmpty: Bool { ids.isEmpty && renamed.isEmpty && !isEverything }
  var count: Int { ids.count + renamed.count }

  mutating func add(_ id: ManagedObjectID) { ids.insert(id) }

  mutating func rename(_ former: ManagedObjectID, to id: ManagedObjectID) {
    renamed[former] = id
    ids.insert(former)
    ids.insert(id)
  }
}

extension ContextStorage {
  /// Whether live results of the context or of a child may receive touched records.
  @inline(__always) var isTouchTracked: Bool { tracksTouched.load(ordering: .relaxed) }

  /// Records that the unsaved state of a record changed without a change by the context's user.
  @inline(__always) func touch(_ id: ManagedObjectID) { if isTouchTracked { touched.add(id) } }

  /// Records that the state of every record may have changed.
  func touchEverything() { if isTouchTracked { touched.isEverything = true } }

  /// Removes and returns the touched records. Changes that no notification has listed yet are left for the next call.
  func takeTouched() -> TouchedRecords {
    guard !touched.isEmpty else { return touched }
    defer { touched = TouchedRecords() }
    return touched
  }
}

/// Receives the touched records of a context and its parents, on the thread of the context that changed.
protocol TouchedRecordsReceiver: AnyObject, Sendable {
  func receive(_ touched: TouchedRecords)
}

/// Keeps the live results of a context up to date, at the beginning and at the end of each of its turns.
protocol TurnObserver: AnyObject {
  /// Called after the context has processed its inbox.
  func turnBegan(in context: ManagedObjectContext)
  /// Called after an operation in the middle of a turn of the main queue. Changes of other contexts wait for the turn's
  /// end.
  func turnContinues(in context: ManagedObjectContext)
  /// Called after the context has notified observers of its changed objects.
  func turnEnds(in context: ManagedObjectContext)
  /// Called last, and after each load on access to an object outside of a block. Changes that still wait need a further
  /// turn.
  func turnEnded(in context: ManagedObjectContext)
  /// Called after a pinned snapshot of the context began, moved, expired or ended.
  func snapshotChanged(in context: ManagedObjectContext)
}

extension ManagedObjectContext {
  /// Adds a receiver of the touched records of this context, without retaining it. May be called on any thread. The
  /// receiver gets records changed in the running block at the block's end.
  final func addTouchReceiver(_ receiver: any TouchedRecordsReceiver) {
    settings.withLock { settings in
      settings.touchReceivers.removeAll { $0.receiver == nil || $0.receiver === receiver }
      settings.touchReceivers.append(TouchReceiverEntry(receiver: receiver))
    }
    storage.tracksTouched.store(true, ordering: .releasing)
  }

  /// Sends the touched records to all receivers.
  final func sendTouched() {
    let touched = storage.takeTouched()
    guard !touched.isEmpty else { return }
    let receivers = settings.withLock { settings in
      settings.touchReceivers.removeAll { $0.receiver == nil }
      if settings.touchReceivers.isEmpty { storage.tracksTouched.store(false, ordering: .releasing) }
      return settings.touchReceivers.compactMap(\.receiver)
    }
    for receiver in receivers { receiver.receive(touched) }
  }
}

/// A receiver of touched records, not retained.
struct TouchReceiverEntry { weak var receiver: (any TouchedRecordsReceiver)? }
