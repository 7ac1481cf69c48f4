import CoherenceCore

/// A mapping with the entity of a context's model.
struct BoundMapping<Model: Codable & SendableMetatype> {
  let mapping: Mapping<Model>
  let table: UidTable
  /// The slot of each field.
  let slots: [Int]
  /// The field of the uid.
  let uid: Field<Model>
  /// The index of ``uid`` in the mapping.
  let uidIndex: Int
  /// The indexes of the fields that a save writes: all but the fields of derived attributes.
  let writtenFields: [Int]

  /// - Throws: ``ErrorCode/contextWithoutStore``; ``ErrorCode/unknownEntity``; ``ErrorCode/modelDoesNotFit`` with all
  ///   problems of the mapping.
  init(_ mapping: Mapping<Model>, in context: ManagedObjectContext) throws {
    guard let uidIndex = mapping.uidIndex else {
      throw Self.mappingError(mapping, ["No field has the key path of the uid; add a `Field` for it."])
    }
    guard let entity = try context.persistentStoreCoordinator?.managedObjectModel.entity(named: mapping.entityName)
    else { throw CoherenceError(.contextWithoutStore, "The context has no coordinator; get one from a manager.") }
    let attributes = mapping.fields.map { entity.attribute(named: $0.attribute.name) }
    let problems = Self.duplicateNames(mapping) + zip(mapping.fields, attributes).compactMap(Self.problem)
    guard problems.isEmpty else { throw Self.mappingError(mapping, problems) }
    let uid = mapping.fields[uidIndex]
    self.mapping = mapping
    self.uid = uid
    self.uidIndex = uidIndex
    slots = attributes.compactMap { $0?.slot }
    writtenFields = attributes.indices.filter { attributes[$0]?.derivation == nil }
    table = try UidTable(mapping.entityName, uidKey: uid.attribute.name, in: context)
  }

  private static func mappingError(_ mapping: Mapping<Model>, _ problems: [String]) -> CoherenceError {
    CoherenceError(
      .modelDoesNotFit,
      "The mapping of '\(Model.self)' does not fit '\(mapping.entityName)'. "
        + problems.joined(separator: " "))
  }

  private static func duplicateNames(_ mapping: Mapping<Model>) -> [String] {
    let names = Dictionary(grouping: mapping.fields, by: \.attribute.name).filter { $0.value.count > 1 }.keys
    return names.sorted().map { "Several fields have the name '\($0)'." }
  }

  private static func problem(_ field: Field<Model>, _ attribute: AttributeDescription?) -> String? {
    guard let attribute else { return "The entity has no attribute '\(field.attribute.name)'." }
    let (own, theirs) = (field.attribute.type.storage, attribute.type.storage)
    guard own.isConvertible(to: theirs) else {
      return "The field '\(attribute.name)' is a \(own.rawValue), and the attribute a \(theirs.rawValue)."
    }
    return nil
  }

  // MARK: Values

  /// Refuses a save whose records would not get their models' uids.
  ///
  /// - Throws: ``ErrorCode/modelDoesNotFit`` for a derived attribute as the key.
  func checkKeyIsWritten() throws {
    guard writtenFields.contains(uidIndex) else {
      throw Self.mappingError(
        mapping,
        [
          "No save can assign the uid, because '\(table.key.name)' is a derived attribute; name another property as "
            + "`uid`."
        ])
    }
  }

  /// The error of a model whose value for a field cannot be saved.
  func saveError(of field: Int, _ error: any Error) -> CoherenceError { mapping.saveError(of: field, error) }
}

extension StorageType {
  /// Whether an attribute of another type can hold values of this type. Integers, and floating-point numbers, differ in
  /// size alone.
  fileprivate func isConvertible(to other: StorageType) -> Bool {
    switch (self, other) {
    case (.int16, .int32), (.int16, .int64), (.int32, .int16), (.int32, .int64), (.int64, .int16), (.int64, .int32):
      true
    case (.float, .double), (.double, .float): true
    default: self == other
    }
  }
}
