import CoherenceCore

extension EntityDescription {
  /// Whether entries have the values of an attribute. A derived value follows from other values, and nobody can assign
  /// it: neither a server nor a decision over a conflict. An identifying one stays, because requests name the record by
  /// its latest value.
  func recordsValues(of attribute: AttributeDescription) -> Bool {
    attribute.derivation == nil || identifyingAttributes.contains(attribute)
  }

  /// The attributes that identify a record for a server: the entity's key, or else its shortest uniqueness constraint
  /// over attributes, the first one among equally short ones.
  var identifyingAttributes: [AttributeDescription] {
    if let key = keyAttributes { return key }
    let constraints = uniquenessConstraints.compactMap { constraint -> [AttributeDescription]? in
      let attributes = constraint.compactMap { $0 as? AttributeDescription }
      return attributes.count == constraint.count ? attributes : nil
    }
    return constraints.min { $0.count < $1.count } ?? []
  }

  /// The highest entity of the hierarchy among whose records the values of ``identifyingAttributes`` are unique. A
  /// record of another entity beside it may have the same values.
  var identifyingScope: EntityDescription {
    let key: [PropertyDescription] = identifyingAttributes
    var scope = self
    while let parent = scope.superentity,
      parent.uniquenessConstraints.contains(where: { constraint in constraint.allSatisfy(key.contains) })
    {
      scope = parent
    }
    return scope
  }
}
