import CoherenceCore
import CoherenceInMemory

extension PersistentStoreCoordinator {
  /// Makes a coordinator with one new store in memory.
  convenience init(inMemory model: ManagedObjectModel) throws {
    self.init(managedObjectModel: model)
    try addPersistentStore(type: .inMemory)
  }
}
