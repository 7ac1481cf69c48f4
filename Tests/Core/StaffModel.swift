@testable import CoherenceCore

/// A model whose entities refer to one another in a cycle, with unique values, links and bounds.
///
/// A person works for a firm, and a person leads the firm. An employee is a person. Persons are members of clubs. A note is
/// about a person, but the person does not know its notes.
struct StaffModel {
  let person: EntityDescription
  let employee: EntityDescription
  let firm: EntityDescription
  let club: EntityDescription
  let note: EntityDescription
  /// The links between persons and clubs.
  let memberships: LinkTable
  private let spaces: IDSpaces

  init() throws {
    let model = try ManagedObjectModel {
      Entity("Person", uniqueness: [["name"]]) {
        Attribute("name", .string, optional: true)
        Attribute("age", .int64, optional: true)
        Relationship("firm", toOne: "Firm", inverse: "staff")
        Relationship("mentor", toOne: "Person", inverse: "pupils")
        Relationship("pupils", toMany: "Person", inverse: "mentor")
        Relationship("leads", toMany: "Firm", inverse: "boss")
        Relationship("clubs", toMany: "Club", inverse: "members")
      }
      Entity("Employee", parent: "Person") { Attribute("desk", .int64, optional: true) }
      Entity("Firm", uniqueness: [["code"]]) {
        Attribute("code", .string, optional: true)
        Relationship("boss", toOne: "Person", inverse: "leads")
        Relationship("staff", toMany: "Person", inverse: "firm", maximumCount: 3)
      }
      Entity("Club") { Relationship("members", toMany: "Person", inverse: "clubs") }
      Entity("Note") { Relationship("subject", toOne: "Person", inverse: nil) }
    }
    person = try model.entity(named: "Person")
    employee = try model.entity(named: "Employee")
    firm = try model.entity(named: "Firm")
    club = try model.entity(named: "Club")
    note = try model.entity(named: "Note")
    spaces = IDSpaces(store: StoreIdentifier("staff"), model: model)
    guard case .links(let table, _)? = person.relationship(named: "clubs")?.storage else {
      throw CoherenceError(.illegalState, "The memberships must be links.")
    }
    memberships = table
  }

  func id(_ entity: EntityDescription, _ key: Int64) -> ManagedObjectID {
    ManagedObjectID(space: spaces[entity], key: key)
  }

  func slot(_ name: String, of entity: EntityDescription) -> Int { entity.propertiesByName[name]?.slotInRow ?? -1 }

  /// A row with the values given, and null in the other slots.
  func row(
    _ entity: EntityDescription, _ key: Int64, version: Int64 = 1, _ values: [String: AttributeValue] = [:]
  ) -> Row {
    var slots = [AttributeValue](repeating: .null, count: entity.slotCount)
    for (name, value) in values { slots[slot(name, of: entity)] = value }
    return Row.make(id: id(entity, key), entity: entity, version: version, values: slots)
  }
}

extension RowChanges {
  /// Adds the insert of a row.
  mutating func insert(_ row: Row, isRestored: Bool = false) {
    _ = insert(row, of: row.entity, isRestored: isRestored)
  }

  /// Adds the update from one row to another of the same record.
  mutating func update(_ base: Row, to row: Row) {
    let slots = SlotSet((0..<row.count).filter { row[$0] != base[$0] })
    update(RowUpdate(row: row, baseVersion: base.version), of: row.entity, slots: slots, base: base)
  }

  /// Adds the delete of a row.
  mutating func delete(_ base: Row) {
    _ = delete(RowDelete(id: base.id, baseVersion: base.version), of: base.entity, base: base)
  }
}
