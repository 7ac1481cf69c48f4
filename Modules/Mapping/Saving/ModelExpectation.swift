import CoherenceCore
import CoherenceReconciliation

/// The values that the models of a save expect of stored rows.
final class ModelExpectation<Model: Codable & SendableMetatype>: ExpectedValues {
  private let binding: BoundMapping<Model>
  private let models: [Model]
  private let entity: EntityDescription
  private let slotCount: Int
  /// The indexes of the written fields in the mapping.
  private let fields: [Int]
  /// The slot of each written field, and its location in a model.
  private let slots: [Int]
  private let locations: [FieldLocation?]

  init(_ binding: BoundMapping<Model>, _ models: [Model]) {
    self.binding = binding
    self.models = models
    entity = binding.table.entity
    slotCount = entity.slotCount
    fields = binding.writtenFields
    slots = fields.map { binding.slots[$0] }
    locations = fields.map { binding.mapping.fields[$0].access.location }
  }

  func readExpectedValues(
    _ index: Int, of id: ManagedObjectID, into values: inout [AttributeValue?]
  ) throws -> RowComparison {
    try readValues(index, into: &values)
    return .inStore
  }

  func comparedSlotCount(_ index: Int, of row: Row) -> Int { slotCount }

  /// Has no effect: values are read from the models at each use.
  func forget(_ indexes: Set<Int>) {}

  /// Assigns the values of a model to an object.
  ///
  /// - Parameter values: Storage that the calls for several models share.
  func assign(_ index: Int, to object: ManagedObject, _ values: inout [AttributeValue?]) throws {
    try readValues(index, into: &values)
    for slot in slots {
      if let value = values[slot] { try object.setCheckedValue(value, at: slot) }
    }
  }

  /// Writes the values of a model by slot, and `nil` in slots without a written field.
  private func readValues(_ index: Int, into values: inout [AttributeValue?]) throws {
    if values.count != slotCount { values = Array(repeating: nil, count: slotCount) }
    try models.withUnsafeBufferPointer { models in
      // Only an empty list has no address, and an empty list has no index.
      guard let model = models.baseAddress.map({ $0 + index }) else { return }
      for (column, slot) in slots.enumerated() {
        do {
          let value =
            try locations[column].map { try $0.load(UnsafeRawPointer(model) + $0.offset) }
            ?? get(fields[column], model.pointee)
          values[slot] = try entity.checked(value, at: slot)
        } catch {
          throw binding.saveError(of: fields[column], error)
        }
      }
    }
  }

  /// Reads a field without a location in the model's memory, through its key path.
  private func get(_ field: Int, _ model: Model) throws -> AttributeValue {
    try binding.mapping.fields[field].access.get(model)
  }
}
