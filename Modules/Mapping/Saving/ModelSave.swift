import CoherenceCore

/// A save of models through a mapping. Records are compared with their models where they are, and objects are made only of
/// those that differ.
final class ModelSave<Model: Codable & SendableMetatype>: RowExpectation {
  private let binding: BoundMapping<Model>
  private let models: [Model]
  private let index: UidIndex
  private let entity: EntityDescription
  /// The slot of each field, and where it is in a model.
  private let slots: [Int]
  private let places: [FieldPlace?]
  private var context: ManagedObjectContext { binding.table.context }
  private var result = SaveResult()

  // Safety of `@exclusivity(unchecked)`, on the properties that every record touches: one reading uses the save, and no
  // callee of an access knows the save.
  /// Whether a model has a record.
  @exclusivity(unchecked) private var isMatched: [Bool]
  /// The models that have several records.
  private var duplicated: Set<Int> = []
  private var changes: [(place: Int, row: Row)] = []
  private var surplus: [Row] = []
  private var collectsSurplus = false
  /// The model that the last verdict was about.
  @exclusivity(unchecked) private var current: Int?
  @exclusivity(unchecked) private(set) var expectedValues: [AttributeValue?]
  let keySlots: [Int]

  init(
    _ mapping: Mapping<Model>, _ models: [Model], in context: ManagedObjectContext, duplicates: DuplicateUids
  ) throws {
    let binding = try BoundMapping(mapping, in: context)
    self.binding = binding
    self.models = models
    entity = binding.table.entity
    slots = binding.slots
    places = mapping.fields.map(\.access.place)
    index = try UidIndex(models.count, of: binding.table, duplicates: duplicates) {
      try binding.uid.access.get(models[$0])
    }
    result.skipped = index.skipped
    isMatched = Array(repeating: false, count: models.count)
    expectedValues = Array(repeating: nil, count: entity.slotCount)
    keySlots = [binding.table.key.slot]
  }

  func run(shouldOverwrite: Bool) throws -> SaveResult {
    collectsSurplus = shouldOverwrite
    if shouldOverwrite {
      try compare(where: nil)
    } else {
      try binding.table.reach(index.uids.compactMap { $0 }, compare)
    }
    result.unchanged = isMatched.count { $0 } - changes.count
    try write()
    return result
  }

  private func compare(where predicate: FetchPredicate?) throws {
    try context.compare(binding.table.request(ManagedObject.self, where: predicate), with: self)
  }

  // MARK: RowExpectation

  func verdict(on id: ManagedObjectID, key: [AttributeValue]) throws -> RowVerdict {
    current = nil
    guard let place = index[key[0]] else { return collectsSurplus ? .take : .pass }
    guard !isMatched[place] else {
      duplicated.insert(place)
      return .pass
    }
    isMatched[place] = true
    current = place
    try expect(place)
    return .compare
  }

  func take(_ row: Row) throws {
    guard let current else { return surplus.append(row) }
    let differs = expectedValues.indices.contains { slot in expectedValues[slot].map { $0 != row[slot] } ?? false }
    if differs { changes.append((current, row)) }
  }

  /// Reads what a record is to be.
  private func expect(_ place: Int) throws {
    try models.withUnsafeBufferPointer { models in
      guard let model = models.baseAddress.map({ $0 + place }) else { return }
      for (field, slot) in slots.enumerated() {
        do {
          let value =
            try places[field].map { try $0.load(UnsafeRawPointer(model) + $0.offset) } ?? get(field, model.pointee)
          expectedValues[slot] = try entity.checked(value, at: slot)
        } catch {
          throw binding.refusal(of: field, error)
        }
      }
    }
  }

  /// The value of a field that is not stored in the model itself.
  private func get(_ field: Int, _ model: Model) throws -> AttributeValue {
    try binding.mapping.fields[field].access.get(model)
  }

  // MARK: Writing

  private func write() throws {
    let removed = try oldestOfDuplicates()
    for object in removed + context.objects(for: surplus) { context.delete(object) }
    result.deleted = removed.count + surplus.count
    for (change, object) in zip(changes, context.objects(for: changes.map(\.row))) {
      try write(change.place, to: object)
    }
    result.updated += changes.count
    for place in models.indices where index.uids[place] != nil && !isMatched[place] {
      try write(place, to: context.insertNewObject(forEntityName: entity.name))
      result.inserted += 1
    }
  }

  private func write(_ place: Int, to object: ManagedObject) throws {
    try expect(place)
    for slot in slots {
      if let value = expectedValues[slot] { try object.setCheckedValue(value, at: slot) }
    }
  }

  /// Writes the models that have several records to the oldest of them, and answers the others.
  private func oldestOfDuplicates() throws -> [ManagedObject] {
    guard !duplicated.isEmpty else { return [] }
    changes.removeAll { duplicated.contains($0.place) }
    let uids = duplicated.compactMap { index.uids[$0] }
    let slot = binding.table.key.slot
    let groups = Dictionary(grouping: try binding.table.records(ManagedObject.self, with: uids)) { object in
      (try? object.value(at: slot)) ?? .null
    }
    result.unchanged = isMatched.count { $0 } - changes.count - groups.count
    var others: [ManagedObject] = []
    for (uid, group) in groups {
      let group = group.sorted { $0.objectID.isOlder(than: $1.objectID) }
      guard let oldest = group.first, let place = index[uid] else { continue }
      try write(place, to: oldest)
      if oldest.hasChanges { result.updated += 1 } else { result.unchanged += 1 }
      others += group.dropFirst()
    }
    return others
  }
}
