/// The stage of a save that reserves a key in a store for each inserted record without a key. All keys of one hierarchy
/// in one store are allocated together.
///
/// A reserved key stays with its record when the save fails, and the next save uses it, unless the store has refused
/// the key, see ``UnitOfWork/releaseTakenKeys(after:)``, or a relationship leads out of the key's store.
struct KeyReservation {
  private let coordinator: PersistentStoreCoordinator
  /// The context's storage, which has the unsaved records that the fresh records are related to.
  private let storage: ContextStorage

  init(in coordinator: PersistentStoreCoordinator, of storage: ContextStorage) {
    self.coordinator = coordinator
    self.storage = storage
  }

  /// Reserves keys for the inserted records without one, ascending in the order given.
  ///
  /// - Throws: ``ErrorCode/contextWithoutStore``, ``ErrorCode/noStore``, ``ErrorCode/storeDetached``, and errors of the
  ///   store that allocates the keys. No record has a new key then.
  func reserveKeys(for records: [PendingRecord]) throws {
    var groups: [KeyGroup] = []
    let runs = try runs(of: records, into: &groups)
    for run in runs { groups[run.group].count += run.length }
    for index in groups.indices { try groups[index].allocate() }
    assignKeys(to: records, runs, &groups)
  }

  /// Releases the keys of the inserted records, so that the next reservation chooses their stores again. A record with an
  /// obtained permanent identifier keeps its key. So does a record that an earlier save of unknown outcome may have
  /// stored: with another key, the next save would store the record twice.
  static func releaseKeys(of records: [PendingRecord]) {
    for record in records where record.kind == .inserted && record.id.isTemporaryID && !record.mayBeStored {
      record.reservedID = nil
    }
  }

  /// Successive records without a key whose keys come from one group.
  private struct Run {
    /// The index of the group.
    let group: Int
    /// The number of records; at least one.
    var length: Int
  }

  /// Divides the records without a key into runs, and makes the groups of their keys. Most saves insert many records of
  /// one entity in a row, for a single store. Such a run costs one comparison for each record.
  private func runs(of records: [PendingRecord], into groups: inout [KeyGroup]) throws -> [Run] {
    var runs: [Run] = []
    var destinations = Destinations(in: coordinator, of: storage)
    // The entity whose records continue the last run: all of them have the same store. `nil` if several stores hold the
    // last entity.
    var runEntity: ObjectIdentifier?
    try records.visit { unmanaged in
      let beginsRun = unmanaged._withUnsafeGuaranteedRef { record in
        guard record.needsKey else { return false }
        guard ObjectIdentifier(record.entity) == runEntity, record.assignedStore == nil else { return true }
        runs[runs.count - 1].length += 1
        return false
      }
      guard beginsRun else { return }
      let record = unmanaged.takeUnretainedValue()
      let store = try destinations.store(of: record)
      let root = record.entity.root
      let index = groups.firstIndex { $0.store === store && $0.root === root } ?? groups.count
      if index == groups.count { groups.append(KeyGroup(store: store, root: root)) }
      runs.append(Run(group: index, length: 1))
      runEntity = try destinations.candidates(of: record.entity).count == 1 ? ObjectIdentifier(record.entity) : nil
    }
    return runs
  }

  /// Gives each record without a key the next key of its run's group. No record has got a key since the runs were made.
  private func assignKeys(to records: [PendingRecord], _ runs: [Run], _ groups: inout [KeyGroup]) {
    var index = 0
    var remainingLength = runs.first?.length ?? 0
    records.visit { unmanaged in
      unmanaged._withUnsafeGuaranteedRef { record in
        guard record.needsKey else { return }
        if remainingLength == 0 {
          index += 1
          remainingLength = runs[index].length
        }
        remainingLength -= 1
        record.reservedID = groups[runs[index].group].next()
      }
    }
  }

  /// The keys to reserve for one hierarchy in one store.
  private struct KeyGroup {
    let store: any PersistentStore
    let root: EntityDescription
    let space: IDSpace
    /// The number of keys to allocate.
    var count = 0
    private var nextKey: Int64 = 0

    init(store: any PersistentStore, root: EntityDescription) {
      self.store = store
      self.root = root
      space = store.spaces[root]
    }

    /// Allocates ``count`` successive keys, which ``next()`` returns one by one.
    mutating func allocate() throws { nextKey = try store.allocateKeys(count, for: root).lowerBound }

    mutating func next() -> ManagedObjectID {
      defer { nextKey += 1 }
      return ManagedObjectID(space: space, key: nextKey)
    }
  }
}
