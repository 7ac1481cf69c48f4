import CoherenceCore
import Synchronization

/// Refuses the saves of an entity in a store, as a full disk does.
final class Outage: SaveParticipant {
  private let entityName: String
  private let store: StoreIdentifier
  private let hasEnded = Atomic<Bool>(false)

  init(of entityName: String, in store: StoreIdentifier) { (self.entityName, self.store) = (entityName, store) }

  func end() { hasEnded.store(true, ordering: .releasing) }

  func observes(_ entity: EntityDescription) -> Bool { entity.name == entityName }

  func participate(in save: inout SaveParticipation) throws {
    guard save.store.identifier == store, !hasEnded.load(ordering: .acquiring) else { return }
    throw CoherenceError(.storeFull, "The disk of the store is full; free some space.")
  }
}
