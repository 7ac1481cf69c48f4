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
  ///   - policy: The policy for missing records.
  /// - Throws: ``ErrorCode/invalidMergeKey`` for a key that does not fit the destination, and for a destination without a
  ///   key.
  init(
    _ links: [RelationshipDescription: Set<MergeKey>], layout: MergeLayout, context: ActionContext,
    inputByKey: InputIndex, pending: PendingReconciliation?, policy: MergeOptions.MissingTargetPolicy
  ) throws {
    let readOnlyStores = ReadOnlyStores(of: context)
    for (relationship, keys) in links {
      let destination = try MergeDestination(of: relationship)
      let checked = Dictionary(uniqueKeysWithValues: try keys.map { ($0, try destination.checked($0).values) })
      let slots = destination.keyAttributes.map(\.slot)
      let finder = IDsByKey(Set(checked.values), keySlots: slots, readOnlyStores: readOnlyStores)
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
          guard policy == .leaveOut else { continue }
          found[key] = .missing
          hasMissingTargets = true
          continue
        }
        found[key] = .new(index)
        insertedTargets.insert(index)
      }
      let targets = checked.compactMapValues { found[$0] }
      self.targets[relationship] = targets
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
  /// - Parameter indexes: The indexes of the input records to be written.
  /// - Throws: ``ErrorCode/objectNotFound``.
  func refuseMissing(in input: any MergeInput, at indexes: [Int]) throws {
    guard !missingKeys.isEmpty else { return }
    for index in indexes {
      for (relationship, link) in try input.links(index) where isMissing(link, of: relationship) {
        throw try MergeDestination(of: relationship).missingTargetError
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
  func target(_ key: MergeKey, of relationship: RelationshipDescription) -> Target? { targets[relationship]?[key] }

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
  func members(_ link: MergeLink, of relationship: RelationshipDescription) -> [Target] {
    var seen: Set<Target> = []
    return link.keys.compactMap { target($0, of: relationship) }
      .filter { !$0.isLeftOut && seen.insert($0).inserted }
  }

  /// The identifiers of the existing destinations of a relationship.
  func existingIDs(of relationship: RelationshipDescription) -> Set<ManagedObjectID> {
    Set(
      (targets[relationship] ?? [:]).values.compactMap { target in
        if case .existing(let id) = target { id } else { nil }
      })
  }
}
