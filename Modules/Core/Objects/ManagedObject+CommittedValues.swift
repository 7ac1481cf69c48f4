// The values before and after the unsaved changes.

extension ManagedObject {
  /// Returns the value from before the unsaved changes: the value in the row on which the changes are based.
  ///
  /// Null for an inserted object. ``committedValues(forKeys:)`` describes the committed state.
  ///
  /// - Throws: As ``value(for:)``.
  public final func committedValue(for name: String) throws -> AttributeValue {
    check()
    let slot = try slot(named: name)
    // Loaded first, because `awakeFromFetch` may change the object.
    try loadRow()
    return try committedValue(at: slot)
  }

  /// Returns the values from before the unsaved changes, by name of property: the values of the row as the context last
  /// read it, refreshed it, or merged it from a save of another context.
  ///
  /// ```swift
  /// let former = try album.committedValues(forKeys: ["title", "year"])
  /// ```
  ///
  /// The values have the form of ``changedValues()``: a to-one relationship has the identifier of its target, and a
  /// to-many relationship is listed as null; ``committedObjectIDs(for:)`` returns its members. All values of an
  /// inserted object are null, also its defaults. In a child context the values are the parent's values, with the
  /// parent's unsaved changes. The parts of composites have names such as `size.width`.
  ///
  /// To be called inside the context. Loads a fault; otherwise reads no store.
  ///
  /// - Parameter names: The names of properties; `nil` for all attributes and relationships.
  /// - Throws: ``ErrorCode/unknownProperty``, listing the existing names; ``ErrorCode/objectNotFound`` and
  ///   ``ErrorCode/objectDeleted`` when the record cannot be loaded, and errors of the store.
  public final func committedValues(forKeys names: [String]? = nil) throws -> [String: AttributeValue] {
    check()
    let properties = try names?.map { try entity.property(named: $0) } ?? entity.properties
    try loadRow()
    var result: [String: AttributeValue] = [:]
    for property in properties {
      switch property {
      case let attribute as AttributeDescription: result[property.name] = try committedValue(at: attribute.slot)
      case let relationship as RelationshipDescription:
        result[property.name] = try relationship.slot.map { try committedValue(at: $0) } ?? .null
      default: break
      }
    }
    return result
  }

  /// Returns the members of a to-many relationship from before the unsaved changes: in their order, or, if the
  /// relationship is unordered, sorted by identifier.
  ///
  /// Empty for an inserted object. The result contains members whose delete is not saved yet. In a child context the
  /// members are the parent's members. To be called inside the context. Reads the members if they are not loaded, as
  /// ``objects(for:)`` does, and makes no object for an identifier without one.
  ///
  /// - Throws: ``ErrorCode/unknownProperty``, ``ErrorCode/wrongType`` for an attribute and a to-one relationship,
  ///   ``ErrorCode/objectDeleted``, and errors of the store.
  public final func committedObjectIDs(for name: String) throws -> [ManagedObjectID] {
    check()
    let relationship = try toMany(named: name)
    if flags.contains(.detached) { throw deletedError() }
    guard pending?.kind != .inserted else { return [] }
    return try memberList(of: relationship).ids
  }

  /// Returns the unsaved values by name of property. Changed to-many relationships are listed as null: see
  /// ``objects(for:)``. A property of a saved record that is changed back to its committed value is left out. A value that
  /// another writer has saved too stays in the result if a ``MergeRule`` combines equal changes: the save writes the
  /// combined value.
  ///
  /// Loads nothing; the cost grows with the number of changed properties. To be called inside the context.
  public final func changedValues() -> [String: AttributeValue] {
    check()
    guard let pending else { return [:] }
    var result: [String: AttributeValue] = [:]
    for slot in pending.changed {
      if case .position = entity.slots[slot] { continue }
      result[entity.slots[slot].name] = pending[slot]
    }
    for (relationship, changes) in pending.members where !changes.isEmpty { result[relationship.name] = .null }
    return result
  }

  /// Whether a stored property has an unsaved value that differs from the committed value; see
  /// ``committedValues(forKeys:)``.
  ///
  /// `false` for a property changed back to its committed value, for an unchanged object marked for deletion, and for
  /// changes of unstored properties: variables of the class, fetched properties, and the object's position in ordered
  /// lists of other records. `true` for an inserted object with any assigned value.
  ///
  /// To be called inside the context. Loads nothing: a fault has no changes.
  public final var hasPersistentChangedValues: Bool {
    check()
    guard let pending else { return false }
    for slot in pending.changed {
      if case .position = entity.slots[slot] { continue }
      if pending[slot] != pending.committedValue(at: slot) { return true }
    }
    return pending.members.values.contains(where: \.changesMembers)
  }

  /// The committed value of a slot of a loaded object.
  private final func committedValue(at slot: Int) throws -> AttributeValue {
    if let pending { return pending.committedValue(at: slot) }
    return try loadedValue(at: slot)
  }
}

extension PendingRecord {
  /// The value of a slot before the changes; null for an inserted record.
  fileprivate func committedValue(at slot: Int) -> AttributeValue { base?[slot] ?? .null }
}

extension MemberChanges {
  /// Whether the members or their order differ from the list on which the changes are based. The order of an unread
  /// list counts as different.
  fileprivate var changesMembers: Bool {
    guard !isEmpty else { return false }
    guard order != nil, let ids = origin?.ids else { return true }
    return applied(to: ids) != ids
  }
}
