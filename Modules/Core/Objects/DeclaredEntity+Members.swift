extension DeclaredEntity {
  /// Returns the members of an unordered to-many relationship, sorted by identifier. The throwing form of the accessor.
  ///
  /// - Throws: As ``ManagedObject/objects(for:)``, and ``ErrorCode/wrongType`` for a member of another class.
  public func objects<Member>(for relationship: KeyPath<Properties, ToManyKey<Member>>) throws -> [Member] {
    try members(named: Properties.table[keyPath: relationship].name)
  }

  /// Returns the members of an ordered to-many relationship, in their order. The throwing form of the accessor.
  ///
  /// - Throws: As ``ManagedObject/objects(for:)``, and ``ErrorCode/wrongType`` for a member of another class.
  public func objects<Member>(for relationship: KeyPath<Properties, OrderedToManyKey<Member>>) throws -> [Member] {
    try members(named: Properties.table[keyPath: relationship].name)
  }

  /// Makes objects the members of an unordered to-many relationship, and sets the inverse of each.
  ///
  /// - Throws: As ``ManagedObject/setObjects(_:for:)``.
  public func setObjects<Member>(
    _ objects: [Member], for relationship: KeyPath<Properties, ToManyKey<Member>>
  ) throws {
    try setObjects(objects, for: Properties.table[keyPath: relationship].name)
  }

  /// Makes objects the members of an ordered to-many relationship, in that order, and sets the inverse of each.
  ///
  /// - Throws: As ``ManagedObject/setObjects(_:for:)``.
  public func setObjects<Member>(
    _ objects: [Member], for relationship: KeyPath<Properties, OrderedToManyKey<Member>>
  ) throws {
    try setObjects(objects, for: Properties.table[keyPath: relationship].name)
  }

  /// Returns the members of an unordered to-many relationship from before the unsaved changes, sorted by identifier.
  ///
  /// - Throws: As ``ManagedObject/committedObjectIDs(for:)``.
  public func committedObjectIDs<Member>(
    for relationship: KeyPath<Properties, ToManyKey<Member>>
  ) throws -> [ManagedObjectID] {
    try committedObjectIDs(for: Properties.table[keyPath: relationship].name)
  }

  /// Returns the members of an ordered to-many relationship from before the unsaved changes, in their order.
  ///
  /// - Throws: As ``ManagedObject/committedObjectIDs(for:)``.
  public func committedObjectIDs<Member>(
    for relationship: KeyPath<Properties, OrderedToManyKey<Member>>
  ) throws -> [ManagedObjectID] {
    try committedObjectIDs(for: Properties.table[keyPath: relationship].name)
  }

  private func members<Member: ManagedObject>(named name: String) throws -> [Member] {
    try objects(for: name).map { object in
      if let member = object as? Member { return member }
      throw CoherenceError(
        .wrongType,
        "'\(entity.name).\(name)' has a member of '\(object.entity.name)', which is not a \(Member.self); "
          + "declare the class of the destination in the key.")
    }
  }
}
