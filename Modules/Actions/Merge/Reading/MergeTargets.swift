import CoherenceCore

/// The records that the links of a merge's input lead to: those that exist, by their identifiers, and those that the
/// merge will make, by their places in the input.
struct MergeTargets {
  enum Target: Hashable {
    case existing(ManagedObjectID)
    case fresh(Int)
  }

  private var targets: [RelationshipDescription: [MergeKey: Target]] = [:]

  /// Finds the records, with one reading for all links of a relationship.
  ///
  /// - Parameters:
  ///   - links: The keys that input leads to, by relationship.
  ///   - place: The place of the input record with a key of the merge's own entity.
  /// - Throws: ``ErrorCode/objectNotFound`` for a key that no record has; ``ErrorCode/invalidMergeKey`` for a key that
  ///   is none of the destination's, and for a destination that has no keys.
  init(
    _ links: [RelationshipDescription: Set<MergeKey>], layout: MergeLayout, context: ActionContext,
    place: ([AttributeValue]) throws -> Int?
  ) throws {
    for (relationship, keys) in links {
      let destination = try MergeDestination(of: relationship)
      let finder = TargetFinder(try destination.checked(keys), keySlots: destination.keyAttributes.map(\.slot))
      let reach = MergeReach(
        context: context, entity: relationship.destination, keyAttributes: destination.keyAttributes)
      try reach.visit(finder.missing, with: finder)
      var found = finder.found.mapValues(Target.existing)
      let isOwn = destination.isServed(by: layout)
      for key in finder.missing {
        guard isOwn, let place = try place(key.values) else { throw destination.missing }
        found[key] = .fresh(place)
      }
      targets[relationship] = Dictionary(
        try keys.compactMap { key in found[try destination.checked(key)].map { (key, $0) } },
        uniquingKeysWith: { first, _ in first })
    }
  }

  /// What a key of a relationship leads to.
  func target(_ key: MergeKey, of relationship: RelationshipDescription) -> Target? { targets[relationship]?[key] }

  /// The identifiers that all links of a relationship lead to.
  func existingIDs(of relationship: RelationshipDescription) -> Set<ManagedObjectID> {
    Set(
      (targets[relationship] ?? [:]).values.compactMap { target in
        if case .existing(let id) = target { id } else { nil }
      })
  }
}

/// Notes the identifiers of the records that have certain keys; of several with one key, the oldest's.
private final class TargetFinder: RowExpectation {
  let keySlots: [Int]
  private let keys: Set<MergeKey>
  private(set) var found: [MergeKey: ManagedObjectID] = [:]

  init(_ keys: Set<MergeKey>, keySlots: [Int]) {
    self.keys = keys
    self.keySlots = keySlots
  }

  var missing: [MergeKey] { keys.filter { found[$0] == nil } }
  var expectedValues: [AttributeValue?] { [] }

  func verdict(on id: ManagedObjectID, key: [AttributeValue]) -> RowVerdict {
    let key = MergeKey(values: key)
    guard keys.contains(key) else { return .pass }
    if let known = found[key], known.isOlder(than: id) { return .pass }
    found[key] = id
    return .pass
  }

  func take(_ row: Row) {}
}

extension ManagedObjectID {
  /// Whether a record was made before another one of its entity; those that are not saved yet were made last.
  func isOlder(than other: ManagedObjectID) -> Bool {
    isTemporaryID == other.isTemporaryID ? key < other.key : !isTemporaryID
  }
}
