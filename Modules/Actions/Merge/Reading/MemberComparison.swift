import CoherenceCore
import CoherenceReconciliation

/// Finds the to-many relationships whose stored members differ from the input, for many records at once.
struct MemberComparison {
  /// The members that the input gives a relationship of an existing record.
  struct ExpectedMembers {
    let index: Int
    let owner: ManagedObjectID
    let relationship: RelationshipDescription
    let members: [MergeTargets.Target]
  }

  let input: any MergeInput
  let layout: MergeLayout
  let targets: MergeTargets
  let context: ActionContext

  /// Returns the expected members of the relationships whose stored members differ.
  func differing(of owners: [MergeExpectation.ListOwner]) throws -> [ExpectedMembers] {
    var result: [ExpectedMembers] = []
    for chunk in StoredRows.chunks(of: owners.count) {
      try context.refuseIfCanceled()
      let expected = try owners[chunk].flatMap(expectedMembers)
      for (relationship, group) in Dictionary(grouping: expected, by: \.relationship) {
        let stored = try context.memberIDs(of: relationship, owners: group.map(\.owner))
        result += group.filter { !matches($0, stored[$0.owner] ?? []) }
      }
    }
    return result
  }

  /// Returns the lists that the input gives a record. A list that would have too few members without its missing
  /// records is left out, so that the record keeps its present members: the save would refuse the list, and with it the
  /// merge.
  private func expectedMembers(of owner: MergeExpectation.ListOwner) throws -> [ExpectedMembers] {
    try input.links(owner.index).compactMap { relationship, link in
      guard relationship.isToMany, !layout.ignores(relationship), !targets.hasTooFewMembers(link, of: relationship)
      else { return nil }
      return ExpectedMembers(
        index: owner.index, owner: owner.id, relationship: relationship,
        members: targets.members(link, of: relationship, in: owner.id.storeIdentifier))
    }
  }

  private func matches(_ expected: ExpectedMembers, _ stored: [ManagedObjectID]) -> Bool {
    let stored = stored.map(MergeTargets.Target.existing)
    return expected.relationship.isOrdered ? expected.members == stored : Set(expected.members) == Set(stored)
  }
}
