/// Chooses the stores of fresh records: the assigned store, else the store of a related record, else the first writable
/// store that holds the entity.
///
/// A relationship cannot cross stores. So unsaved records that relationships connect, directly or over other unsaved
/// records, have one store, although the user has assigned only one of them, or has related only one of them to a saved
/// record.
struct Destinations {
  private let coordinator: PersistentStoreCoordinator
  private let storage: ContextStorage
  private var candidatesByEntity: [ObjectIdentifier: [any PersistentStore]] = [:]
  /// The unsaved records that refer to each fresh record, or have it as a new member; `nil` before the first use.
  private var referrers: [ManagedObjectID: [PendingRecord]]?
  /// For each group of related fresh records, the stores of the other records that they are related to, in the order of
  /// their discovery. With more than one store, the save refuses a relationship across stores.
  private var homesByGroup: [[StoreIdentifier]] = []
  /// The index in ``homesByGroup`` of each visited record.
  private var groups: [ManagedObjectID: Int] = [:]

  init(in coordinator: PersistentStoreCoordinator, of storage: ContextStorage) {
    self.coordinator = coordinator
    self.storage = storage
  }

  /// The attached stores that hold an entity, the read-only stores last.
  ///
  /// - Throws: ``ErrorCode/contextWithoutStore``, ``ErrorCode/noStore``.
  mutating func candidates(of entity: EntityDescription) throws(CoherenceError) -> [any PersistentStore] {
    let key = ObjectIdentifier(entity)
    if let known = candidatesByEntity[key] { return known }
    let stores = try coordinator.storesForNewRecords(of: entity)
    candidatesByEntity[key] = stores
    return stores
  }

  /// The store of a fresh record.
  ///
  /// - Throws: ``ErrorCode/contextWithoutStore``, ``ErrorCode/noStore``; ``ErrorCode/storeDetached`` for an assigned
  ///   store that is not attached.
  mutating func store(of record: PendingRecord) throws(CoherenceError) -> any PersistentStore {
    let candidates = try candidates(of: record.entity)
    if let assigned = record.assignedStore {
      guard let store = candidates.first(where: { $0.identifier == assigned }) else {
        throw CoherenceError(
          .storeDetached,
          "The store assigned to an object of '\(record.entity.name)' is not attached; attach it, or assign another.")
      }
      return store
    }
    guard candidates.count > 1 else { return candidates[0] }
    for home in homes(ofRecordsRelatedTo: record) {
      if let store = candidates.first(where: { $0.identifier == home }) { return store }
    }
    return candidates[0]
  }

  /// The stores of the records that the group of a fresh record is related to. Visits each group once.
  private mutating func homes(ofRecordsRelatedTo record: PendingRecord) -> [StoreIdentifier] {
    if let group = groups[record.id] { return homesByGroup[group] }
    let group = homesByGroup.count
    var found: [StoreIdentifier] = []
    groups[record.id] = group
    var visited = [record]
    var next = 0
    while next < visited.count {
      let (saved, unsaved) = partners(of: visited[next])
      next += 1
      var homes = saved
      for partner in unsaved {
        if let home = home(of: partner) {
          homes.append(home)
        } else if groups[partner.id] == nil {
          groups[partner.id] = group
          visited.append(partner)
        }
      }
      for home in homes where !found.contains(home) { found.append(home) }
    }
    homesByGroup.append(found)
    return found
  }

  /// The stores of saved records that a fresh record refers to, and the unsaved records that it is related to.
  private mutating func partners(of record: PendingRecord) -> (saved: [StoreIdentifier], unsaved: [PendingRecord]) {
    var saved: [StoreIdentifier] = []
    var unsaved: [PendingRecord] = []
    for id in record.partners {
      if let home = id.storeIdentifier {
        saved.append(home)
      } else if let partner = storage.record(for: id) {
        unsaved.append(partner)
      }
    }
    return (saved, unsaved + (knownReferrers()[record.id] ?? []))
  }

  /// Returns ``referrers``, collected at the first call. A relationship without an inverse is known to one side only.
  private mutating func knownReferrers() -> [ManagedObjectID: [PendingRecord]] {
    if let referrers { return referrers }
    var found: [ManagedObjectID: [PendingRecord]] = [:]
    for record in storage.records where record.kind != .deleted {
      for id in record.partners where id.isTemporaryID { found[id, default: []].append(record) }
    }
    referrers = found
    return found
  }

  /// The store of an unsaved record that does not follow from its relationships; `nil` if only they decide.
  private mutating func home(of record: PendingRecord) -> StoreIdentifier? {
    if let home = record.permanentID.storeIdentifier ?? record.assignedStore { return home }
    guard let candidates = try? candidates(of: record.entity), candidates.count == 1 else { return nil }
    return candidates[0].identifier
  }
}
