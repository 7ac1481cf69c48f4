/// The unit of work of a main-queue context that is used without `perform`: from the first operation in a turn of the
/// main queue to the end of the turn.
///
/// A save by the turn's own code ends the unit earlier, and the next operation begins another. So does a refresh, and
/// everything else that ends the lease. Code that does not return to the main queue has no turns: each of its
/// operations is a unit.
struct MainTurn {
  /// Whether a unit has begun and not ended.
  private(set) var isOpen = false
  /// Whether the unit lasts until the end of the turn, and not only for the running block.
  private(set) var isLasting = false
  /// Whether the unit began with the saves of others. A load on access to an object begins a unit without them.
  var hasProcessedInbox = false
  /// Whether the next operation begins another unit.
  var isSuperseded = false
  /// Whether a block of the main queue runs that is a turn by itself.
  var isAlone = false
  /// Whether the running operation is a block, or asks for the changes made so far.
  private var requestsChanges = false
  /// The count of the saves that end the unit; `nil` for a context without a coordinator.
  private var saves: SaveCount?
  /// The number of saves on the main actor when the unit began.
  private var seenSaves = 0

  /// Whether the next operation belongs to the open unit.
  @inline(__always) func isCurrent(_ lease: borrowing ReadLease) -> Bool {
    isOpen && !isSuperseded && !lease.hasEnded && seenSaves == (saves?.valueOfMain ?? 0)
  }

  /// Begins a unit. A later save by the turn's own code ends the unit.
  mutating func open(isLasting: Bool, saves: SaveCount?) {
    self.saves = saves
    seenSaves = saves?.valueOfMain ?? 0
    self.isLasting = isLasting
    isOpen = true
    isSuperseded = false
    hasProcessedInbox = false
  }

  mutating func requestChanges() { requestsChanges = true }

  /// Whether the ended operation was a block, or has asked for the changes made so far.
  mutating func takeRequestedChanges() -> Bool {
    defer { requestsChanges = false }
    return requestsChanges
  }

  mutating func close() {
    isOpen = false
    isLasting = false
    requestsChanges = false
  }
}
