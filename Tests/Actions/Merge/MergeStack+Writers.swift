import CoherenceActions
import CoherenceCore
import TestSupport
import Testing

extension MergeStack {
  /// Returns a context on the same store with its own coordinator, like the context of another program.
  func makeStranger() throws -> ManagedObjectContext {
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: connect.persistentStoreCoordinator.managedObjectModel)
    try coordinator.addPersistentStore(
      type: store.type, configurationName: store.configurationName, at: store.url, options: store.environment.options)
    return ManagedObjectContext(coordinator: coordinator)
  }

  /// Lets another program change the store during the next saves of this stack.
  func interfere(times: Int = 1, _ change: @escaping @Sendable (ManagedObjectContext) throws -> Void) throws {
    let stranger = try makeStranger()
    connect.persistentStoreCoordinator.observer = SaveInterference(times: times, reportingTo: { Issue.record($0) }) {
      try stranger.performAndWait {
        stranger.reset()
        try change(stranger)
        try stranger.save()
      }
    }
  }
}

extension ManagedObjectContext {
  /// The artist with an identifier.
  func artist(_ id: Int32) throws -> ManagedObject? {
    var request = FetchRequest<ManagedObject>(entityName: "Artist")
    request.predicate = .comparison(.path(PropertyPath("id")), .equal, .value(.int(Int64(id))))
    return try fetch(request).first
  }
}
