import Synchronization

/// Keeps track of the owners whose work waits for the main actor through a main-queue context, so that deadlocks with
/// the main actor are detected.
///
/// A call about to block the main actor until an owner's work ends watches the owner. When work of the owner begins to
/// wait for the main actor, the call can fail instead of waiting forever.
///
/// Each piece of work has an owner. The owner of an action is the dispatcher of its Connect.
package enum MainDemand {
  private struct Content {
    /// The number of waiting calls by owner.
    var waiting: [ObjectIdentifier: Int] = [:]
    /// The blocks of the watches, by owner and by number of the watch.
    var watches: [ObjectIdentifier: [Int: @Sendable () -> Void]] = [:]
    var nextNumber = 0
  }

  @TaskLocal private static var owner: ObjectIdentifier?
  private static let content = Mutex(Content())

  // MARK: Work

  /// Runs work of an owner. Waits for the main actor in it are recorded for the owner.
  package static func working<T>(for workOwner: some AnyObject, operation: () throws -> T) rethrows -> T {
    try $owner.withValue(ObjectIdentifier(workOwner), operation: operation)
  }

  /// Runs asynchronous work of an owner. Waits for the main actor in it are recorded for the owner.
  package static func working<T>(
    for workOwner: some AnyObject & Sendable, isolation: isolated (any Actor)? = #isolation,
    operation: () async throws -> T
  ) async rethrows -> T {
    try await $owner.withValue(ObjectIdentifier(workOwner), operation: operation, isolation: isolation)
  }

  /// Records that the caller waits for the main actor from now on.
  ///
  /// - Returns: The recorded wait, to be ended as soon as the main actor has begun the caller's block.
  static func begin() -> Wait {
    guard let owner else { return Wait(owner: nil) }
    let watches = content.withLock { content in
      content.waiting[owner, default: 0] += 1
      return content.watches[owner].map { Array($0.values) } ?? []
    }
    for notify in watches { notify() }
    return Wait(owner: owner)
  }

  /// A call that waits for the main actor.
  struct Wait: Sendable {
    fileprivate let owner: ObjectIdentifier?

    /// Records that the main actor has begun the caller's block. Called once.
    func end() {
      guard let owner else { return }
      content.withLock { content in
        let count = content.waiting[owner, default: 0] - 1
        content.waiting[owner] = count > 0 ? count : nil
      }
    }
  }

  // MARK: Watches

  /// Calls a block whenever work of an owner begins to wait for the main actor, and at once if some work waits already.
  package static func watch(_ workOwner: some AnyObject, _ notify: @escaping @Sendable () -> Void) -> Watch {
    let owner = ObjectIdentifier(workOwner)
    let (number, isNeeded) = content.withLock { content in
      content.nextNumber += 1
      content.watches[owner, default: [:]][content.nextNumber] = notify
      return (content.nextNumber, content.waiting[owner] != nil)
    }
    if isNeeded { notify() }
    return Watch(owner: owner, number: number)
  }

  /// A registered block of a caller that is about to block the main actor.
  package struct Watch: Sendable {
    fileprivate let owner: ObjectIdentifier
    fileprivate let number: Int

    /// Removes the block.
    package func end() {
      content.withLock { content in
        content.watches[owner]?[number] = nil
        if content.watches[owner]?.isEmpty == true { content.watches[owner] = nil }
      }
    }
  }
}
