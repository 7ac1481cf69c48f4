/// A property of a snapshot type, by the key that reads it in objects. A value, made on any thread.
public struct SnapshotField: Sendable {
  /// The name of the property.
  public let name: String
  /// Returns the slots of the property in an entity.
  let slots: @Sendable (EntityDescription) throws(CoherenceError) -> [Int]
  /// Whether the property is a composite, which a snapshot reads as a whole.
  let isComposite: Bool

  /// An attribute.
  public init<Value>(_ key: AttributeKey<Value>) {
    self.init(key.name) { (entity) throws(CoherenceError) in
      [try entity.snapshotSlot(of: key.name, storedAs: Value.attributeType.storage)]
    }
  }

  /// A `codable` attribute.
  public init<Value>(_ key: CodableKey<Value>) {
    self.init(key.name) { (entity) throws(CoherenceError) in [try entity.snapshotSlot(of: key.name, storedAs: .string)]
    }
  }

  /// A composite.
  public init<Value: SendableMetatype>(_ key: CompositeKey<Value>) {
    self.init(key.name, isComposite: true) { (entity) throws(CoherenceError) in
      try CompositeLayout(Value.self, key.name, in: entity).slots
    }
  }

  /// A to-one relationship, as the identifier of its target.
  public init<Target>(_ key: ToOneKey<Target>) {
    self.init(key.name) { (entity) throws(CoherenceError) in
      [try entity.snapshotSlot(of: key.name, storedAs: .reference)]
    }
  }

  private init(
    _ name: String, isComposite: Bool = false,
    slots: @escaping @Sendable (EntityDescription) throws(CoherenceError) -> [Int]
  ) {
    self.name = name
    self.isComposite = isComposite
    self.slots = slots
  }
}

extension EntityDescription {
  /// The slot of an attribute or a to-one relationship.
  ///
  /// - Throws: ``ErrorCode/unknownProperty``; ``ErrorCode/wrongType`` when the values of the property are stored
  ///   otherwise.
  fileprivate func snapshotSlot(of name: String, storedAs storage: StorageType) throws(CoherenceError) -> Int {
    let property = try property(named: name)
    if let attribute = property as? AttributeDescription, attribute.type.storage == storage { return attribute.slot }
    if let slot = (property as? RelationshipDescription)?.slot, storage == .reference { return slot }
    throw CoherenceError(
      .wrongType,
      "The property '\(self.name).\(name)' does not fit the snapshot, which has values stored as \(storage.rawValue); "
        + "give the snapshot the type that the model declares.")
  }
}
