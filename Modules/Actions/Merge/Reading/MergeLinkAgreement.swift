import CoherenceCore

/// Refuses input whose links contradict each other. What becomes of such links depends on the order of the records, and
/// every merge of the same input would write again.
struct MergeLinkAgreement {
  let input: any MergeInput
  let layout: MergeLayout
  /// Input records that are left out.
  let left: PlaceSet

  /// - Parameter linked: The relationships that the input names.
  /// - Throws: ``ErrorCode/contradictoryLinks``; ``ErrorCode/invalidMergeKey`` for a key that is none of the
  ///   destination's.
  func check(_ linked: Set<RelationshipDescription>) throws {
    for relationship in layout.relationships where linked.contains(relationship) && !layout.ignores(relationship) {
      guard let inverse = relationship.inverse else { continue }
      let destination = try MergeDestination(of: relationship)
      if !inverse.isToMany { try checkClaims(of: relationship, destination) }
      if linked.contains(inverse), !layout.ignores(inverse), destination.isServed(by: layout) {
        try checkAnswers(of: relationship, by: inverse)
      }
    }
  }

  /// A record whose inverse relationship leads to one record cannot be linked to by two.
  private func checkClaims(of relationship: RelationshipDescription, _ destination: MergeDestination) throws {
    var owners: [MergeKey: Int] = [:]
    try forEachLink(of: relationship) { place, link in
      for key in link.keys {
        if let other = owners.updateValue(place, forKey: try destination.checked(key)), other != place {
          throw contradiction(relationship, "two records link to one that has room for one link only")
        }
      }
    }
  }

  /// A record that names the inverse relationship must name every record that links to it.
  private func checkAnswers(of relationship: RelationshipDescription, by inverse: RelationshipDescription) throws {
    let answers = try members(of: inverse)
    for (owner, members) in try members(of: relationship) {
      for member in members where answers[member]?.contains(owner) == false {
        throw contradiction(relationship, "a record links to one whose '\(inverse.name)' does not lead back")
      }
    }
  }

  /// The keys of linked records, by the key of the record that names the relationship.
  private func members(of relationship: RelationshipDescription) throws -> [MergeKey: Set<MergeKey>] {
    let destination = try MergeDestination(of: relationship)
    var members: [MergeKey: Set<MergeKey>] = [:]
    var key = [AttributeValue](repeating: .null, count: layout.keys.count)
    try forEachLink(of: relationship) { place, link in
      try input.readKey(place, into: &key)
      members[MergeKey(values: key)] = try destination.checked(Set(link.keys))
    }
    return members
  }

  private func forEachLink(
    of relationship: RelationshipDescription, _ body: (_ place: Int, _ link: MergeLink) throws -> Void
  ) throws {
    for place in 0..<input.count where !left.contains(place) {
      for (other, link) in try input.links(place) where other === relationship { try body(place, link) }
    }
  }

  private func contradiction(_ relationship: RelationshipDescription, _ reason: String) -> CoherenceError {
    CoherenceError(
      .contradictoryLinks,
      "The input contradicts itself in '\(layout.entity.name).\(relationship.name)': \(reason). Send one state of the "
        + "records, or one side of the relationship.")
  }
}
