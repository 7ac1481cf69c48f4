import CoherenceCore
public import CoherenceStrategies
public import Foundation

/// The persisted actions in the stores of a container: lists them, and changes them beside their workers.
///
/// Each call reads or saves in a context of its own. May be used from any thread, and without a worker.
public struct PersistedActions: Sendable {
  private let container: any PersistentContainer
  /// Returns the present date.
  let now: @Sendable () -> Date
  private typealias Records = FetchRequest<PersistedActionRecord>

  var coordinator: PersistentStoreCoordinator { container.persistentStoreCoordinator }

  /// Makes the access to the actions of a container.
  ///
  /// - Parameters:
  ///   - container: The container of the stores.
  ///   - now: Returns the present date, which the workers' ``PersistedActionClock`` has to agree with.
  /// - Throws: ``ErrorCode/invalidModel`` for a model without `addingPersistedActions()`.
  public init(_ container: any PersistentContainer, now: @escaping @Sendable () -> Date = { Date() }) throws {
    _ = try container.managedObjectModel.persistedActionEntity()
    self.container = container
    self.now = now
  }

  func inContext<T: Sendable>(_ body: @escaping @Sendable (ManagedObjectContext) throws -> T) async throws -> T {
    let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    context.name = "persisted actions"
    return try await context.perform { try body(context) }
  }

  // MARK: Listing

  /// Returns the action with a handle; `nil` for none, for example after it was pruned.
  ///
  /// For a handle that has joined another action, the latest action of the same name and key.
  public func action(_ handle: PersistedActionHandle) async throws -> PersistedActionInfo? {
    try await inContext { try Self.record(handle, in: $0).map(PersistedActionInfo.init) }
  }

  /// Returns actions, the latest enqueued last, in pages.
  ///
  /// - Parameters:
  ///   - states: The states; none for all.
  ///   - name: The name of the actions; `nil` for all.
  ///   - queue: The queue; `nil` for all.
  ///   - limit: The size of a page.
  ///   - last: The last action of the page before; `nil` for the first page.
  public func actions(
    in states: Set<PersistedActionState> = [], named name: String? = nil, queue: String? = nil, limit: Int = 100,
    after last: PersistedActionInfo? = nil
  ) async throws -> [PersistedActionInfo] {
    try await inContext { context in
      var request = Records().limit(limit)
      if !states.isEmpty { request = request.filter { $0.state.isIn(states.map(\.rawValue).sorted()) } }
      if let name { request = request.filter { $0.name == name } }
      if let queue { request = request.filter { $0.queue == queue } }
      if let last {
        request = request.filter {
          $0.enqueuedDate > last.enqueuedDate || ($0.enqueuedDate == last.enqueuedDate && $0.identifier > last.id)
        }
      }
      return try context.fetch(request.sort(\.enqueuedDate).sort(\.identifier)).map(PersistedActionInfo.init)
    }
  }

  /// Returns the number of actions in each state that has any.
  public func counts() async throws -> [PersistedActionState: Int] {
    try await inContext { context in
      var counts: [PersistedActionState: Int] = [:]
      for state in PersistedActionState.allCases {
        let count = try context.count(for: Records().filter { $0.state == state.rawValue })
        if count > 0 { counts[state] = count }
      }
      return counts
    }
  }

  /// Returns the result of an action; `nil` for an action without one.
  ///
  /// - Throws: Errors of decoding the result; ``ErrorCode/objectNotFound`` for an unknown handle.
  public func result<Value: Decodable & Sendable>(
    of handle: PersistedActionHandle, as type: Value.Type = Value.self
  ) async throws -> Value? {
    let data = try await inContext { try Self.existing(handle, in: $0).result }
    return try data.map { try JSONDecoder().decode(Value.self, from: $0) }
  }

  /// Waits until an action has finished, in this process or another.
  ///
  /// - Returns: The finished action.
  /// - Throws: ``ErrorCode/objectNotFound`` for an unknown handle, and for an action that leaves no record;
  ///   `CancellationError`; errors of the store.
  public func untilFinished(_ handle: PersistedActionHandle) async throws -> PersistedActionInfo {
    // The stream begins with an element, so that the first look is after the begin of the listening.
    for await _ in coordinator.signals(ActionChannel.finished) {
      let info = try await inContext { PersistedActionInfo(try Self.existing(handle, in: $0)) }
      if info.state.isFinal { return info }
    }
    try Task.checkCancellation()
    throw CoherenceError(.storeDetached, "The container was released while an action was awaited; keep the container.")
  }

  // MARK: Records

  static func record(
    _ handle: PersistedActionHandle, in context: ManagedObjectContext
  ) throws -> PersistedActionRecord? {
    let own = try context.fetch(Records().filter { $0.identifier == handle.id }.limit(1)).first
    guard own == nil, let key = handle.uniqueKey else { return own }
    let request = Records().filter { $0.name == handle.name && $0.key == key }
    return try context.fetch(request.sort(\.enqueuedDate, .reverse).limit(1)).first
  }

  static func existing(
    _ handle: PersistedActionHandle, in context: ManagedObjectContext
  ) throws -> PersistedActionRecord {
    guard let record = try record(handle, in: context) else {
      throw CoherenceError(
        .objectNotFound,
        "The store has no action '\(handle.name)' with this handle: the save that enqueued it has not committed, or the "
          + "action has finished and its record was deleted.")
    }
    return record
  }
}
