import CoherenceCore

/// Finds out which to-many relationships differ from what the input says of them, for many records at once.
struct MergeLists {
  /// The members that a relationship of a record is to have.
  struct Wish {
    let place: Int
    let owner: ManagedObjectID
    let relationship: RelationshipDescription
    let members: [MergeTargets.Target]
  }

  /// How many owners are looked at in one reading.
  private static let chunkSize = 500

  let input: any MergeInput
  let layout: MergeLayout
  let targets: MergeTargets
  let context: ActionContext

  /// The wishes that are not fulfilled yet.
  func open(among records: [MergeScan.Listed]) throws -> [Wish] {
    var result: [Wish] = []
    for start in stride(from: 0, to: records.count, by: Self.chunkSize) {
      try context.refuseIfCanceled()
      let wishes = try records[start..<min(start + Self.chunkSize, records.count)].flatMap(wishes)
      for (relationship, group) in Dictionary(grouping: wishes, by: \.relationship) {
        let present = try context.memberIDs(of: relationship, owners: group.map(\.owner))
        result += group.filter { !isFulfilled($0, by: present[$0.owner] ?? []) }
      }
    }
    return result
  }

  private func wishes(of record: MergeScan.Listed) throws -> [Wish] {
    try input.links(record.place).compactMap { relationship, link in
      guard relationship.isToMany, !layout.ignores(relationship) else { return nil }
      return Wish(
        place: record.place, owner: record.id, relationship: relationship,
        members: targets.members(link, of: relationship))
    }
  }

  private func isFulfilled(_ wish: Wish, by present: [ManagedObjectID]) -> Bool {
    let present = present.map(MergeTargets.Target.existing)
    return wish.relationship.isOrdered ? wish.members == present : Set(wish.members) == Set(present)
  }
}

extension MergeTargets {
  /// What the keys of a link lead to, each once.
  func members(_ link: MergeLink, of relationship: RelationshipDescription) -> [Target] {
    var known: Set<Target> = []
    return link.keys.compactMap { target($0, of: relationship) }.filter { known.insert($0).inserted }
  }
}
