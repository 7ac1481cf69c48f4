import CoherenceCore

/// Values by attribute, and links.
struct RecordInput: MergeInput {
  let records: [MergeRecord]
  private let layout: MergeLayout

  init(_ records: [MergeRecord], layout: MergeLayout) {
    self.records = records
    self.layout = layout
  }

  var count: Int { records.count }

  func readKey(_ place: Int, into key: inout [AttributeValue]) throws {
    for (index, field) in layout.keys.enumerated() {
      if let value = records[place].values[field.name] {
        key[index] = try field.checked(value.attributeValue)
      } else {
        key[index] = field.description.defaultValue
      }
    }
  }

  func readValues(_ place: Int, into values: inout [AttributeValue?], isChecked: Bool) throws {
    let slotCount = layout.entity.slotCount
    if values.count != slotCount { values = Array(repeating: nil, count: slotCount) }
    for slot in 0..<slotCount { values[slot] = nil }
    var isKnown = true
    for (name, value) in records[place].values {
      guard let index = layout.index(of: name) else {
        isKnown = false
        continue
      }
      let value = value.attributeValue
      let isTaken = !isChecked && layout.attributes[index].isComparable(value)
      values[layout.attributes[index].slot] = isTaken ? value : try layout.attributes[index].checked(value)
    }
    if !isKnown { try refuseUnknownNames(records[place]) }
  }

  private func refuseUnknownNames(_ record: MergeRecord) throws {
    for name in record.values.keys { _ = try layout.entity.property(named: name) }
  }

  func links(_ place: Int) throws -> [(relationship: RelationshipDescription, link: MergeLink)] {
    let record = records[place]
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
        .wrongType, "'\(layout.entity.name).\(name)' is an attribute; give its value among `values`.")
    }
    return links
  }

  private static func link(_ value: (any AttributeConvertible)?) -> MergeLink? {
    guard let value = value?.attributeValue else { return nil }
    return value.isNull ? MergeLink.none : .one(MergeKey(values: [value]))
  }

  func entity(_ place: Int) -> EntityDescription { layout.entity }

  func insert(_ place: Int, into context: ActionContext) throws -> ManagedObject {
    var values: [AttributeValue?] = []
    try readValues(place, into: &values, isChecked: true)
    let object = try context.insertNewObject(forEntityName: layout.entity.name)
    for (slot, value) in values.enumerated() {
      if let value { try object.setCheckedValue(value, at: slot) }
    }
    return object
  }
}
