// Access to the objects of weak references.

extension ManagedObject {
  /// Returns the loaded object of a weak reference. Neither throws nor traps.
  ///
  /// `nil` for a missing reference, for a record deleted in this context, for a dangling reference, whose record does
  /// not exist, and while the store of the record is detached. A dangling reference is reported with
  /// ``ErrorCode/recordVanished``, a detached store with ``ErrorCode/storeDetached``, and a store that does not hold
  /// the entity of the record with ``ErrorCode/noStore``, to ``ManagedObjectContext/reportedErrors``; all leave the
  /// object available, and a later call tries again. A record of another class is reported with
  /// ``ErrorCode/wrongType``.
  ///
  /// The references of objects from the same fetch are read together, so that a loop over fetched objects sends few
  /// statements. A request prefetches the objects by the name of the attribute, like the targets of a relationship.
  public final func referencedObject<Target>(for key: AttributeKey<WeakReference<Target>?>) -> Target? {
    referencedObject(of: key, as: Target.self)
  }

  /// Returns the loaded object of a required weak reference, like the form for an optional reference.
  public final func referencedObject<Target>(for key: AttributeKey<WeakReference<Target>>) -> Target? {
    referencedObject(of: key, as: Target.self)
  }

  /// The loaded object of a weak reference of any key, for the accessors. Reports failures.
  private final func referencedObject<Target: ManagedObject>(of key: PropertyKey, as type: Target.Type) -> Target? {
    do {
      guard let (object, id) = try referenced(by: try weakReference(named: key.name)) else { return nil }
      guard let object else {
        report(vanished: id, of: key.name)
        return nil
      }
      guard let target = object as? Target else {
        throw CoherenceError(
          .wrongType, "'\(entity.name).\(key.name)' leads to an object of '\(object.entity.name)', not of \(type).")
      }
      return target.isDeleted ? nil : target
    } catch let error as CoherenceError
      where [ErrorCode.storeDetached, .noStore, .wrongType, .unknownEntity].contains(error.code)
    {
      managedObjectContext?.report(error, for: self, losesChange: false)
      return nil
    } catch {
      becomeUnavailable(error)
      return nil
    }
  }

  /// Reports a dangling reference. The object stays available.
  private final func report(vanished id: StoredObjectID, of name: String) {
    let cause = CoherenceError(.objectNotFound, "The record of '\(id.entityName)' does not exist.")
    let report = CoherenceError(
      .recordVanished,
      "The record that '\(entity.name).\(name)' leads to does not exist, and the accessor returned nil; assign nil, or "
        + "another reference.", underlying: cause)
    managedObjectContext?.report(report, for: self, losesChange: false)
  }

  /// Returns the loaded object of a weak reference; `nil` for a missing reference, for a record deleted in this
  /// context, and for a dangling reference. The throwing form of the accessor, by name.
  ///
  /// - Throws: ``ErrorCode/unknownProperty``; ``ErrorCode/wrongType`` for another attribute;
  ///   ``ErrorCode/storeDetached`` while the store of the record is not attached; ``ErrorCode/noStore`` when the store
  ///   does not hold the entity of the record; errors of loading the record.
  public final func referencedObject(for name: String) throws -> ManagedObject? {
    guard let object = try referenced(by: try weakReference(named: name))?.object, !object.isDeleted else { return nil }
    return object
  }

  /// Sets a weak reference by name.
  ///
  /// - Throws: As ``WeakReference/init(to:)`` and ``setValue(_:for:)``; ``ErrorCode/wrongType`` for another attribute,
  ///   and for an object of another entity than the attribute's.
  public final func setReferencedObject(_ object: ManagedObject?, for name: String) throws {
    let attribute = try weakReference(named: name)
    guard let object else { return try setAttributeValue(.null, for: name) }
    if case .weakReference(let target?) = attribute.type, !object.entity.isNamed(target) {
      throw CoherenceError(
        .wrongType, "'\(entity.name).\(name)' leads to '\(target)', not to '\(object.entity.name)'.")
    }
    try setAttributeValue(.string(try object.permanentStoredID().description), for: name)
  }

  /// The attribute of a weak reference with a name.
  ///
  /// - Throws: ``ErrorCode/unknownProperty``; ``ErrorCode/wrongType`` for another property.
  private final func weakReference(named name: String) throws -> AttributeDescription {
    guard let attribute = try entity.property(named: name) as? AttributeDescription,
      case .weakReference = attribute.type
    else { throw CoherenceError(.wrongType, "'\(entity.name).\(name)' is no weak reference.") }
    return attribute
  }

  /// The loaded object of a reference, `nil` for a missing record, and the record's identity; `nil` for a missing
  /// reference.
  private final func referenced(
    by attribute: AttributeDescription
  ) throws -> (object: ManagedObject?, id: StoredObjectID)? {
    check()
    guard let id = StoredObjectID(try loadedValue(at: attribute.slot)) else { return nil }
    guard let context = managedObjectContext else { throw deletedError() }
    return (try context.referencedObject(id, at: attribute.slot, of: self), id)
  }

  /// The identity of the object's record. An inserted object gets a permanent identifier if it has none.
  final func permanentStoredID() throws -> StoredObjectID {
    check()
    if flags.contains(.detached) || pending?.kind == .deleted { throw deletedError() }
    if recordID.isTemporaryID { try managedObjectContext?.obtainPermanentIDs(for: [self]) }
    return try StoredObjectID(recordID)
  }
}

extension DeclaredEntity {
  /// Returns the loaded object of a weak reference; `nil` for a missing and for a dangling reference.
  public func referencedObject<Target>(
    for attribute: KeyPath<Properties, AttributeKey<WeakReference<Target>?>>
  ) -> Target? {
    referencedObject(for: Properties.table[keyPath: attribute])
  }

  /// Returns the loaded object of a required weak reference; `nil` for a dangling reference.
  public func referencedObject<Target>(
    for attribute: KeyPath<Properties, AttributeKey<WeakReference<Target>>>
  ) -> Target? {
    referencedObject(for: Properties.table[keyPath: attribute])
  }
}

extension StoredObjectID {
  /// The identity in the value of an attribute; `nil` for a missing value.
  init?(_ value: AttributeValue) {
    guard case .string(let text) = value else { return nil }
    self.init(text)
  }
}

extension EntityDescription {
  /// Whether the entity or an ancestor of it has a name.
  fileprivate func isNamed(_ name: String) -> Bool {
    var current: EntityDescription? = self
    while let entity = current {
      if entity.name == name { return true }
      current = entity.superentity
    }
    return false
  }
}
