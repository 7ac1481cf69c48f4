// Relationships by name, for programs whose model is data.

extension ManagedObject {
  /// Returns the target of a to-one relationship; `nil` for no target. Loads this object if it is a fault. The target
  /// may be a fault. To be called inside the context.
  ///
  /// - Throws: ``ErrorCode/unknownProperty``, ``ErrorCode/wrongType`` for a property that is no to-one relationship,
  ///   and errors of loading the record.
  public final func object(for name: String) throws -> ManagedObject? { try target(of: try relationship(named: name)) }

  /// Sets a to-one relationship and its inverse.
  ///
  /// - Throws: ``ErrorCode/unknownProperty``, ``ErrorCode/wrongType`` for a property that is no to-one relationship and
  ///   for an object that is not of the destination, ``ErrorCode/wrongContext``, ``ErrorCode/objectDeleted``,
  ///   ``ErrorCode/relationshipCrossesStores``, and errors of loading the records.
  public final func setObject(_ object: ManagedObject?, for name: String) throws {
    try setTarget(object, of: try relationship(named: name))
  }

  /// Returns the members of a to-many relationship: in their order, or, if the relationship is unordered, sorted by
  /// identifier. Loads the members in few reads, and leaves members out whose records other writers deleted.
  ///
  /// - Throws: ``ErrorCode/unknownProperty``, ``ErrorCode/wrongType`` for a property that is no to-many relationship,
  ///   and errors of loading the records.
  public final func objects(for name: String) throws -> [ManagedObject] {
    try members(of: try toMany(named: name))
  }

  /// The members of a to-many relationship, loaded. Members whose records do not exist any more are left out.
  final func members(of relationship: RelationshipDescription) throws -> [ManagedObject] {
    check()
    guard let context = managedObjectContext else {
      return try memberIDs(of: relationship).map { try member($0, of: relationship) }
    }
    return try context.presentMembers(of: relationship, owner: self)
  }

  /// Makes objects the members of a to-many relationship, and sets the inverses. An ordered relationship gets the order
  /// of the objects.
  ///
  /// - Throws: As ``setObject(_:for:)``, but ``ErrorCode/wrongType`` for a property that is no to-many relationship.
  public final func setObjects(_ objects: [ManagedObject], for name: String) throws {
    try replaceMembers(of: try toMany(named: name), with: objects)
  }

  /// Loads the targets and members of relationships, with few reads for each relationship, and retains them for the
  /// unit of work. A path such as `tracks.artist` continues from the loaded objects. To be called inside the context;
  /// the call waits for the store.
  ///
  /// - Throws: ``ErrorCode/unknownProperty``, and errors of loading the records.
  public final func load(relationships relationshipNames: [String]) throws {
    check()
    try loadRow()
    let paths = try PrefetchPaths(relationshipNames, of: entity)
    try managedObjectContext?.prefetch(paths, of: [self])
  }
}
