import CoherenceActions
import CoherenceCore
import Synchronization
import Testing

/// Does something at the beginning of saves: after a merge has planned its changes, and before the store takes them.
final class SaveInterference: StackObserver {
  private let left: Mutex<Int>
  private let work: @Sendable () throws -> Void

  /// - Parameter times: How many saves are interfered with, the first ones.
  init(times: Int, _ work: @escaping @Sendable () throws -> Void) {
    left = Mutex(times)
    self.work = work
  }

  func began(_ operation: StackOperation) -> any StackObservation {
    if operation.kind == .save, isNext() {
      do { try work() } catch { Issue.record(error) }
    }
    return Observation()
  }

  func scope() -> (any StackScope)? { nil }

  private func isNext() -> Bool {
    left.withLock { left in
      left -= 1
      return left >= 0
    }
  }

  private struct Observation: StackObservation {
    func ended(_ outcome: StackOutcome) {}
    func run<T>(_ body: () throws -> T) rethrows -> T { try body() }
    func run<T>(_ body: () async throws -> T) async rethrows -> T { try await body() }
  }
}

extension MergeStack {
  /// A context on the same store, with a coordinator of its own: what another program would have.
  func makeStranger() throws -> ManagedObjectContext {
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: connect.persistentStoreCoordinator.managedObjectModel)
    try coordinator.addPersistentStore(
      type: store.type, configurationName: store.configurationName, at: store.url, options: store.environment.options)
    return ManagedObjectContext(coordinator: coordinator)
  }

  /// Has another program change the store during the next saves of this stack.
  func interfere(times: Int = 1, _ change: @escaping @Sendable (ManagedObjectContext) throws -> Void) throws {
    let stranger = try makeStranger()
    connect.persistentStoreCoordinator.observer = SaveInterference(times: times) {
      try stranger.performAndWait {
        stranger.reset()
        try change(stranger)
        try stranger.save()
      }
    }
  }
}

extension ManagedObjectContext {
  /// The artist with a number.
  func artist(_ number: Int32) throws -> ManagedObject? {
    var request = FetchRequest<ManagedObject>(entityName: "Artist")
    request.predicate = .comparison(.path(PropertyPath("id")), .equal, .value(.int(Int64(number))))
    return try fetch(request).first
  }
}
