import CoherenceCore
import Foundation
import Synchronization

/// The content of an in-memory store: the present state, and the greatest used keys. Stores of one name and model
/// configuration share their content.
final class InMemoryContent: Sendable {
  let schema: InMemorySchema
  private let emptyMetadata: StoreMetadata
  private let state: Locked<InMemoryState>
  /// Held during a save. Separate from the state's own lock, so that readers never wait for a save.
  private let writing = WriterLock()
  /// The thread that holds the lock during an exclusion; zero for none.
  private let excluder = Atomic<UInt>(0)
  /// The listeners of all stores of the content.
  let signals = SignalHub()
  /// The greatest used key of each hierarchy. Separate from the state, because a failed save does not return keys.
  private let lastKeys = Locked<[ObjectIdentifier: Int64]>([:])

  init(_ environment: StoreEnvironment) {
    let identifier = StoreIdentifier(UUID().uuidString)
    let schema = InMemorySchema(environment, identifier: identifier)
    self.schema = schema
    self.emptyMetadata = environment.freshMetadata(identifier: identifier)
    self.state = Locked(InMemoryState(schema))
  }

  /// The state after the last save.
  var present: InMemoryState { state.withLock { $0 } }

  var metadata: StoreMetadata {
    var metadata = emptyMetadata
    metadata.userInfo = present.userInfo
    return metadata
  }

  /// Replaces the present state by a changed one. Keeps the present state if the closure throws.
  ///
  /// - Throws: ``ErrorCode/cancelled`` when the task is cancelled during the wait for other writers; the errors of the
  ///   closure.
  func change<Result: Sendable>(_ body: (inout InMemoryState) throws -> Result) throws -> Result {
    guard isExcludingOthers else {
      // The thread of an exclusion may keep the lock for long.
      try lockForWriting()
      defer { writing.unlock() }
      return try replace(body)
    }
    let result = try replace(body)
    endExclusion()
    return result
  }

  /// Replaces the state by the one that a closure makes of it. Called with the writers' lock held.
  private func replace<Result: Sendable>(_ body: (inout InMemoryState) throws -> Result) throws -> Result {
    var next = present
    let result = try body(&next)
    // Swapped, so that parts that only the old state retained are released outside the lock.
    state.withLock { swap(&$0, &next) }
    return result
  }

  // MARK: Exclusion

  /// Whether the calling thread excludes other writers.
  private var isExcludingOthers: Bool { excluder.load(ordering: .relaxed) == callingThread }

  /// Runs a block while no other thread can save. The first save of the block releases the lock, as
  /// ``WriterExcluding/excludingWriters(_:)`` demands. Calls may be nested.
  ///
  /// - Parameter timeout: The longest wait for the lock; `nil` for no limit.
  func excludingWriters<T>(timeout: Duration?, _ body: () throws -> T) throws -> T {
    if isExcludingOthers { return try body() }
    try lockForWriting(timeout: timeout)
    return try excluding(body)
  }

  /// Takes the writers' lock.
  private func lockForWriting(timeout: Duration? = nil) throws {
    try writing.lock(timeout: timeout, of: "the store in memory")
  }

  /// Runs a block with the lock held, and then ends the exclusion, unless a save of the block has ended it.
  private func excluding<T>(_ body: () throws -> T) rethrows -> T {
    excluder.store(callingThread, ordering: .relaxed)
    defer { if isExcludingOthers { endExclusion() } }
    return try body()
  }

  private func endExclusion() {
    excluder.store(0, ordering: .relaxed)
    writing.unlock()
  }

  /// Returns the next keys of a hierarchy.
  ///
  /// - Throws: ``ErrorCode/limitExceeded`` behind a record with the greatest key.
  func allocateKeys(_ count: Int, for root: EntityDescription) throws -> Range<Int64> {
    try lastKeys.withLock { last in
      let keys = try root.keys(count, after: last[ObjectIdentifier(root), default: 0])
      last[ObjectIdentifier(root)] = keys.upperBound - 1
      return keys
    }
  }

  /// Excludes keys up to a given one from allocation, because inserted records may have keys from another origin.
  func retireKeys(through key: Int64, of root: EntityDescription) {
    lastKeys.withLock { last in
      last[ObjectIdentifier(root)] = max(last[ObjectIdentifier(root), default: 0], key)
    }
  }
}
