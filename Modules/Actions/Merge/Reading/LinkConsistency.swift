import CoherenceCore
import CoherenceReconciliation

/// Refuses input whose links contradict each other: the result would depend on the order of the records, and every merge of
/// the same input would write again.
struct LinkConsistency {
  let input: any MergeInput
  let layout: MergeLayout
  let inputByKey: InputIndex

  /// - Parameter linked: The relationships with links in the input.
  /// - Throws: ``ErrorCode/contradictoryLinks``; ``ErrorCode/invalidMergeKey`` for a key that does not fit the destination.
  func check(_ linked: Set<RelationshipDescription>) throws {
    for relationship in layout.relationships where linked.contains(relationship) && !layout.ignores(relationship) {
      guard let inverse = relationship.inverse else { continue }
      let destination = try MergeDestination(of: relationship)
      if !inverse.isToMany { try refuseSharedMembers(of: relationship, destination) }
      if linked.contains(inverse), !layout.ignores(inverse), destination.mayBeInput(of: layout) {
        try checkInverse(inverse, of: relationship)
      }
    }
  }

  /// Two records cannot link to one destination whose inverse relationship is to-one.
  private func refuseSharedMembers(of relationship: RelationshipDescription, _ destination: MergeDestination) throws {
    var owners: [MergeKey: Int] = [:]
    try forEachLink(of: relationship) { index, link in
      for key in link.keys {
        if let other = owners.updateValue(index, forKey: try destination.checked(key)), other != index {
          throw contradiction(relationship, "two records link to a destination that can have one of them only")
        }
      }
    }
  }

  /// A record that contains the inverse relationship must list every record that links to it.
  private func checkInverse(_ inverse: RelationshipDescription, of relationship: RelationshipDescription) throws {
    let inverseMembers = try members(of: inverse)
    for (owner, members) in try members(of: relationship) {
      for member in members where inverseMembers[member]?.contains(owner) == false {
        throw contradiction(relationship, "a record links to a destination whose '\(inverse.name)' does not lead back")
      }
    }
  }

  /// The keys of the members, by the key of the owner.
  private func members(of relationship: RelationshipDescription) throws -> [MergeKey: Set<MergeKey>] {
    let destination = try MergeDestination(of: relationship)
    var members: [MergeKey: Set<MergeKey>] = [:]
    try forEachLink(of: relationship) { owner, link in
      members[MergeKey(values: try inputByKey.key(at: owner))] = Set(try link.keys.map { try destination.checked($0) })
    }
    return members
  }

  private func forEachLink(
    of relationship: RelationshipDescription, _ body: (_ index: Int, _ link: MergeLink) throws -> Void
  ) throws {
    for owner in 0..<input.count where !inputByKey.isExcluded(owner) {
      for (other, link) in try input.links(owner) where other === relationship { try body(owner, link) }
    }
  }

  private func contradiction(_ relationship: RelationshipDescription, _ reason: String) -> CoherenceError {
    CoherenceError(
      .contradictoryLinks,
      "The links of the input contradict each other in '\(layout.entity.name).\(relationship.name)': \(reason). Send "
        + "one state of the records, or one side of the relationship.")
  }
}
