import CoherenceCore

/// The entries that settlements change, read together in the context that writes the settlements.
struct SettledEntries {
  /// The entries that the forwarder has claimed. An entry that another forwarder has taken over is missing.
  let heads: [ManagedObjectID: OutboxEntryRecord]
  /// The entries of the records that get values of the server, in the order of each record's saves, logged changes
  /// included. They are read in the same state of the stores as the records.
  let entries: [ManagedObjectID: [OutboxEntryRecord]]
  /// The records that get values of the server. A deleted record is missing.
  let objects: [ManagedObjectID: ManagedObject]
  /// Whether the store may have other records with the keys that the server assigns.
  let mayHaveCopies: Bool

  init(of settlements: [ForwardSettlement], _ claim: ForwardClaim, in context: ManagedObjectContext) throws {
    let ids = settlements.compactMap(\.recordWithNewValues)
    let entries = try context.entryRecords(of: ids)
    self.entries = entries
    if ids.count == settlements.count {
      // Each settlement has such a record, so that the entries of these records include the claimed ones.
      let claimed = entries.values.joined().filter { $0.state == .sending && $0.claimant == claim.claimant }
      heads = Dictionary(claimed.map { ($0.objectID, $0) }) { first, _ in first }
    } else {
      heads = try claim.records(in: context)
    }
    let written = settlements.filter { settlement in
      guard let id = settlement.recordWithNewValues, settlement.flight.step.kind != .delete else { return false }
      let settledIDs = Set(settlement.flight.step.entries.map(\.id))
      return entries[id, default: []].allSatisfy { $0.kind != .delete || settledIDs.contains($0.objectID) }
    }
    objects = written.isEmpty ? [:] : try context.existingObjects(with: written.compactMap(\.recordWithNewValues))
    mayHaveCopies = try Self.findsCopies(of: settlements, objects, in: context)
  }

  /// Searches for records with the keys that the settlements assign, once for all of them: few settlements have copies
  /// to be replaced. A single settlement needs no such search.
  private static func findsCopies(
    of settlements: [ForwardSettlement], _ objects: [ManagedObjectID: ManagedObject], in context: ManagedObjectContext
  ) throws -> Bool {
    guard settlements.count > 1 else { return true }
    let entities = context.persistentStoreCoordinator?.managedObjectModel.entitiesByName ?? [:]
    var identities: [EntityDescription: [[String: AttributeValue]]] = [:]
    for settlement in settlements {
      guard case .remove(let values, _, _) = settlement.consequence, let id = settlement.recordWithNewValues else {
        continue
      }
      let step = settlement.flight.step
      let identity = step.identity(assigning: values)
      // A record without a complete key has no copy.
      guard step.kind != .delete, !identity.isEmpty, !identity.values.contains(where: \.isNull) else { continue }
      let entity = objects[id]?.entity ?? entities[step.head.entityName] ?? id.entity
      identities[entity.identifyingScope, default: []].append(identity)
    }
    for (entity, identities) in identities {
      let names = identities[0].keys
      // Of two records with equal keys, one is the copy of the other.
      guard identities.allSatisfy({ $0.keys == names }), Set(identities).count == identities.count else { return true }
      var request = FetchRequest<ManagedObject>(entityName: entity.name)
      request.predicate = .and(
        names.sorted().map { name in
          .membership(.path(PropertyPath(names: [name])), in: identities.compactMap { $0[name] })
        })
      request.fetchLimit = 1
      if try !context.fetch(request).isEmpty { return true }
    }
    return false
  }
}

extension OutboxStep {
  /// The identifying values of the record after the server has assigned some of them, or has kept its own against those
  /// of the request; empty if the server does neither.
  func identity(assigning values: [String: AttributeValue]) -> [String: AttributeValue] {
    let sent = sentIdentity
    let assigned = values.filter { name, value in
      guard let former = identity[name] else { return false }
      return former != value || sent[name] != value
    }
    return assigned.isEmpty ? [:] : sent.merging(assigned) { _, new in new }
  }
}

extension ForwardSettlement {
  /// The record to which values of the server are written.
  fileprivate var recordWithNewValues: ManagedObjectID? {
    guard case .remove(let values, let bases, let members) = consequence,
      !values.isEmpty || !bases.isEmpty || !members.isEmpty
    else { return nil }
    return flight.step.head.recordID
  }
}
