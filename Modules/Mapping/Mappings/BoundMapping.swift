import CoherenceCore

/// A mapping put to its entity in a context.
struct BoundMapping<Model: Codable & SendableMetatype> {
  let mapping: Mapping<Model>
  let table: UidTable
  /// The slot of each field.
  let slots: [Int]
  /// The field that tells models apart.
  let uid: Field<Model>
  /// Its place among the fields.
  let uidPlace: Int

  /// - Throws: ``ErrorCode/unknownEntity``; ``ErrorCode/modelDoesNotFit``, naming everything that does not.
  init(_ mapping: Mapping<Model>, in context: ManagedObjectContext) throws {
    guard let uidPlace = mapping.uidPlace else {
      throw Self.misfit(mapping, ["The key path of the uid is none of the fields'; give it one, as `Field`."])
    }
    guard let entity = try context.persistentStoreCoordinator?.managedObjectModel.entity(named: mapping.entityName)
    else { throw CoherenceError(.contextWithoutStore, "The context has no coordinator; get one from a manager.") }
    let attributes = mapping.fields.map { entity.attribute(named: $0.attribute.name) }
    let faults = Self.doubles(mapping) + zip(mapping.fields, attributes).compactMap(Self.fault)
    guard faults.isEmpty else { throw Self.misfit(mapping, faults) }
    let uid = mapping.fields[uidPlace]
    self.mapping = mapping
    self.uid = uid
    self.uidPlace = uidPlace
    slots = attributes.compactMap { $0?.slot }
    table = try UidTable(mapping.entityName, uidKey: uid.attribute.name, in: context)
  }

  private static func misfit(_ mapping: Mapping<Model>, _ faults: [String]) -> CoherenceError {
    CoherenceError(
      .modelDoesNotFit,
      "The mapping of '\(Model.self)' does not fit '\(mapping.entityName)'. "
        + faults.joined(separator: " "))
  }

  private static func doubles(_ mapping: Mapping<Model>) -> [String] {
    let names = Dictionary(grouping: mapping.fields, by: \.attribute.name).filter { $0.value.count > 1 }.keys
    return names.sorted().map { "Several fields have the name '\($0)'." }
  }

  private static func fault(_ field: Field<Model>, _ attribute: AttributeDescription?) -> String? {
    guard let attribute else { return "The entity has no attribute '\(field.attribute.name)'." }
    let (own, theirs) = (field.attribute.type.storage, attribute.type.storage)
    guard own.isKept(in: theirs) else {
      return "The field '\(attribute.name)' is a \(own.rawValue), and the attribute a \(theirs.rawValue)."
    }
    return nil
  }

  // MARK: Values

  /// The error of a model whose value for a field cannot be kept.
  func refusal(of field: Int, _ error: any Error) -> CoherenceError { mapping.refusal(of: field, error) }
}

extension StorageType {
  /// Whether values of this kind can be kept in an attribute of another: the numbers of a kind differ in size alone.
  fileprivate func isKept(in other: StorageType) -> Bool {
    switch (self, other) {
    case (.int16, .int32), (.int16, .int64), (.int32, .int16), (.int32, .int64), (.int64, .int16), (.int64, .int32):
      true
    case (.float, .double), (.double, .float): true
    default: self == other
    }
  }
}
