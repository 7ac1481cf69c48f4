import CoherenceCore
import CoherenceReconciliation

/// The destinations of the links in a merge's input: existing records by identifier, records that the merge inserts by
/// their index in the input, and records with a pending deletion, which links leave out. Links may lead to missing
/// records as long as no record with such a link is written, or the merge leaves such links out.
struct MergeTargets {
  /// The destination of a link.
  enum Target: Hashable {
    case existing(ManagedObjectID)
    /// A record that the merge inserts, by its index in the input.
    case new(Int)
    /// A record with a pending deletion.
    case deleted
    /// A missing record, with the policy ``MergeOptions/MissingTargetPolicy/leaveOut``.
    case missing

    /// Whether links leave the record out.
    var isLeftOut: Bool { self == .deleted || self == .missing }
  }

  private var targets: [RelationshipDescription: [MergeKey: Target]] = [:]

  /// The records of each store, for the keys that records of several stores have. Links of a record lead to the record of
  /// its own store. Links within the merge's own hierarchy, whose records the merge may delete, have no entries.
  private var existingByStore: [RelationshipDescription: [MergeKey: [StoreIdentifier: ManagedObjectID]]] = [:]

  /// The store of inserted records; `nil` for the stores that the context chooses.
  private var insertionStore: StoreIdentifier?

  /// The records of the input that the merge inserts and to which links of the input lead.
  private var insertedTargets: Set<Int> = []

  /// Whether a link leads to a record with a pending deletion.
  private(set) var hasDeletedTargets = false

  /// Whether the merge leaves out a link to a missing record.
  private(set) var hasMissingTargets = false

  /// The keys without a record that the merge refuses, by relationship; empty for relationships without such keys.
  private var missingKeys: [RelationshipDescription: Set<MergeKey>] = [:]

  /// Targets of input without links.
  init() {}

  /// Finds the destinations, with one reading for each relationship.
  ///
  /// - Parameters:
  ///   - links: The keys of the links, by relationship.
  ///   - inputByKey: The input of the merge, whose records may be destinations too.
  ///   - pending: The pending edits, deletions of destinations among them.
  ///   - options: The policy for missing records, and the store of inserted records.
  /// - Throws: ``ErrorCode/invalidMergeKey`` for a key that does not fit the destination, and for a destination without a
  ///   key.
  init(
    _ links: [RelationshipDescription: Set<MergeKey>], layout: MergeLayout, context: ActionContext,
    inputByKey: InputIndex, pending: PendingReconciliation?, _ options: MergeOptions
  ) throws {
    insertionStore = options.store
    let (order, matchOrder) = (StoreOrder(of: context), StoreOrder(ofMatchesIn: context))
    for (relationship, keys) in links {
      let destination = try MergeDestination(of: relationship)
      let checked = Dictionary(uniqueKeysWithValues: try keys.map { ($0, try destination.checked($0).values) })
      let slots = destination.keyAttributes.map(\.slot)
      // Of several records with a key of the merge's own hierarchy, the merge updates the match and may delete the others.
      let isOwn = relationship.destination.root === layout.entity.root
      let finder = IDsByKey(Set(checked.values), keySlots: slots, order: isOwn ? matchOrder : order)
      try context.storedRows(of: relationship.destination, by: destination.keyAttributes)
        .compare(KeyColumns(finder.missing, width: slots.count), with: finder)
      var found = finder.ids.mapValues(Target.existing)
      let mayBeInput = destination.mayBeInput(of: layout)
      let deletedKeys = finder.missing.isEmpty ? [] : try pending?.deletedKeys(of: destination) ?? []
      for key in finder.missing {
        if deletedKeys.contains(key) {
          found[key] = .deleted
          hasDeletedTargets = true
          continue
        }
        guard mayBeInput, let index = try inputByKey.index(of: key) else {
          guard options.missingTargets == .leaveOut else { continue }
          found[key] = .missing
          hasMissingTargets = true
          continue
        }
        found[key] = .new(index)
        insertedTargets.insert(index)
      }
      let targets = checked.compactMapValues { found[$0] }
      self.targets[relationship] = targets
      if !isOwn, !finder.idsByStore.isEmpty {
        existingByStore[relationship] = checked.compactMapValues { finder.idsByStore[$0] }
      }
      if targets.count < checked.count { missingKeys[relationship] = keys.subtracting(targets.keys) }
    }
  }

  /// Makes links leave out records that the merge deletes.
  mutating func leaveOut(_ deletedIDs: Set<ManagedObjectID>) {
    guard !deletedIDs.isEmpty else { return }
    for (relationship, found) in targets {
      for case (let key, .existing(let id)) in found where deletedIDs.contains(id) {
        targets[relationship]?[key] = .missing
        hasMissingTargets = true
      }
    }
  }

  /// Whether a link leads to a missing record that the merge refuses.
  func isMissing(_ link: MergeLink, of relationship: RelationshipDescription) -> Bool {
    guard !missingKeys.isEmpty, let missing = missingKeys[relationship] else { return false }
    return link.keys.contains(where: missing.contains)
  }

  /// Refuses links of records to be written that lead to missing records.
  ///
  /// - Parameters:
  ///   - inserts: The indexes of the input records to be inserted.
  ///   - updates: The indexes of the input records whose records get other values, except for ignored properties.
  /// - Throws: ``ErrorCode/objectNotFound``.
  func refuseMissing(in input: any MergeInput, _ layout: MergeLayout, inserts: [Int], updates: [Int]) throws {
    guard !missingKeys.isEmpty else { return }
    for (indexes, isUpdate) in [(inserts, false), (updates, true)] {
      for index in indexes {
        for (relationship, link) in try input.links(index) where isMissing(link, of: relationship) {
          if isUpdate, layout.ignores(relationship) { continue }
          throw try MergeDestination(of: relationship).missingTargetError(index)
        }
      }
    }
  }

  /// Returns the records to insert that need a left-out record, directly or through each other.
  ///
  /// - Parameters:
  ///   - leftOut: The indexes of input records that the merge does not insert.
  ///   - inserts: The indexes of the input records to insert.
  func dependents(on leftOut: Set<Int>, among inserts: [Int], of input: any MergeInput) throws -> Set<Int> {
    var dependentsByTarget: [Int: [Int]] = [:]
    for index in inserts {
      for (relationship, link) in try input.links(index) where !relationship.isToMany && !relationship.isOptional {
        guard case .one(let key) = link, case .new(let target)? = self.target(key, of: relationship) else { continue }
        dependentsByTarget[target, default: []].append(index)
      }
    }
    var dependents: Set<Int> = []
    var pending = Array(leftOut)
    while let target = pending.popLast() {
      for index in dependentsByTarget[target] ?? [] where !leftOut.contains(index) {
        if dependents.insert(index).inserted { pending.append(index) }
      }
    }
    return dependents
  }

  /// The destination of a key; `nil` for a missing record that the merge refuses.
  ///
  /// - Parameter store: The store of the record with the link; `nil` for a record to insert.
  func target(
    _ key: MergeKey, of relationship: RelationshipDescription, in store: StoreIdentifier? = nil
  ) -> Target? {
    if !existingByStore.isEmpty, let store = store ?? insertionStore,
      let id = existingByStore[relationship]?[key]?[store]
    {
      return .existing(id)
    }
    return targets[relationship]?[key]
  }

  /// Whether a link leads to a record of the input that the merge inserts.
  func isTarget(_ index: Int) -> Bool { insertedTargets.contains(index) }

  /// Whether a link of a to-one relationship leads to a record with a pending deletion.
  func isDeleted(_ link: MergeLink, of relationship: RelationshipDescription) -> Bool {
    guard hasDeletedTargets, case .one(let key) = link else { return false }
    return target(key, of: relationship) == .deleted
  }

  /// Whether a link of a to-one relationship leads to a record that links leave out.
  func isLeftOut(_ link: MergeLink, of relationship: RelationshipDescription) -> Bool {
    guard hasDeletedTargets || hasMissingTargets, case .one(let key) = link else { return false }
    return target(key, of: relationship)?.isLeftOut == true
  }

  /// The destinations of a link, each once, without the records that links leave out.
  ///
  /// - Parameter store: The store of the record with the link; `nil` for a record to insert.
  func members(
    _ link: MergeLink, of relationship: RelationshipDescription, in store: StoreIdentifier? = nil
  ) -> [Target] {
    var seen: Set<Target> = []
    return link.keys.compactMap { target($0, of: relationship, in: store) }
      .filter { !$0.isLeftOut && seen.insert($0).inserted }
  }

  /// Whether a link of a to-many relationship has fewer members than the relationship needs because it leaves records
  /// out. Too few members in the input itself are an error of the input, which the save reports. The keys may repeat a
  /// member.
  func hasTooFewMembers(_ link: MergeLink, of relationship: RelationshipDescription) -> Bool {
    let minimum = relationship.minimumCount
    return minimum > 0 && members(link, of: relationship).count < minimum && Set(link.keys).count >= minimum
  }

  /// The identifiers of the existing destinations of a relationship.
  func existingIDs(of relationship: RelationshipDescription) -> Set<ManagedObjectID> {
    Set(
      (targets[relationship] ?? [:]).values.compactMap { target in
        if case .existing(let id) = target { id } else { nil }
      })
  }

  /// The identifiers of the existing destinations of a link, in all stores.
  func existingIDs(of link: MergeLink, _ relationship: RelationshipDescription) -> Set<ManagedObjectID> {
    var ids: Set<ManagedObjectID> = []
    for key in link.keys {
      if case .existing(let id)? = target(key, of: relationship) { ids.insert(id) }
      if let idsByStore = existingByStore[relationship]?[key] { ids.formUnion(idsByStore.values) }
    }
    return ids
  }
}
