import CoherenceCore

/// Values by attribute and links by relationship, as the input of a merge.
struct RecordInput: MergeInput {
  let records: [MergeRecord]
  private let layout: MergeLayout

  init(_ records: [MergeRecord], layout: MergeLayout) {
    self.records = records
    self.layout = layout
  }

  var count: Int { records.count }

  func readKey(_ index: Int, into key: inout [AttributeValue]) throws {
    for (position, field) in layout.keys.enumerated() {
      if let value = records[index].values[field.name] {
        key[position] = try field.checked(value.attributeValue, of: index)
      } else {
        key[position] = field.description.defaultValue
      }
    }
  }

  func readValues(_ index: Int, into values: inout [AttributeValue?], isChecked: Bool) throws {
    let slotCount = layout.entity.slotCount
    if values.count != slotCount { values = Array(repeating: nil, count: slotCount) }
    for slot in 0..<slotCount { values[slot] = nil }
    var areNamesKnown = true
    for (name, value) in records[index].values {
      guard let attribute = layout.index(of: name) else {
        areNamesKnown = false
        continue
      }
      let value = value.attributeValue
      guard !layout.attributes[attribute].isDerived else {
        try refuseDerived(value, at: layout.attributes[attribute].slot)
        continue
      }
      let isReady = !isChecked && layout.attributes[attribute].isComparable(value)
      values[layout.attributes[attribute].slot] =
        isReady ? value : try layout.attributes[attribute].checked(value, of: index)
    }
    if !areNamesKnown { try refuseUnknownNames(records[index]) }
  }

  /// Throws for the value of a derived attribute, which saves compute. A derived key only finds the record, and an
  /// ignored attribute is not set.
  private func refuseDerived(_ value: AttributeValue, at slot: Int) throws {
    guard !layout.keySlots.contains(slot), !layout.ignoredSlots.contains(slot) else { return }
    _ = try layout.entity.checked(value, at: slot)
  }

  /// Throws for a name without a property. Names of relationships are allowed, see ``MergeRecord/values``.
  private func refuseUnknownNames(_ record: MergeRecord) throws {
    for name in record.values.keys { _ = try layout.entity.property(named: name) }
  }

  func links(_ index: Int) throws -> [(relationship: RelationshipDescription, link: MergeLink)] {
    let record = records[index]
    if layout.relationships.isEmpty, record.links.isEmpty { return [] }
    var links: [(relationship: RelationshipDescription, link: MergeLink)] = []
    for relationship in layout.relationships {
      guard let link = record.links[relationship.name] ?? Self.link(record.values[relationship.name]) else { continue }
      try layout.checkLink(link, of: relationship)
      links.append((relationship, link))
    }
    for name in record.links.keys where layout.entity.relationship(named: name) == nil {
      _ = try layout.entity.property(named: name)
      throw CoherenceError(
        .wrongType, "'\(layout.entity.name).\(name)' is an attribute; put its value in `values`, not in `links`.")
    }
    return links
  }

  private static func link(_ value: (any AttributeConvertible)?) -> MergeLink? {
    guard let value = value?.attributeValue else { return nil }
    return value.isNull ? MergeLink.none : .one(MergeKey(values: [value]))
  }

  func entity(_ index: Int) -> EntityDescription { layout.entity }

  func insert(_ index: Int, into context: ActionContext) throws -> ManagedObject {
    var values: [AttributeValue?] = []
    try readValues(index, into: &values, isChecked: true)
    let object = try context.insertNewObject(forEntityName: layout.entity.name)
    for (slot, value) in values.enumerated() {
      if let value { try object.setCheckedValue(value, at: slot) }
    }
    return object
  }
}
