import CoherenceCore

/// A record with a column for each writer, and one for the view.
final class Tally: ManagedObject {
  static let writers = 8
  private static let columns = (0..<writers).map { AttributeKey<Int>("writer\($0)") }
  private static let remarkKey = AttributeKey<Int>("remark")

  static let entity = Entity("Tally", class: Tally.self) {
    Attribute("remark", .int64, default: 0)
    Attribute("writer0", .int64, default: 0)
    Attribute("writer1", .int64, default: 0)
    Attribute("writer2", .int64, default: 0)
    Attribute("writer3", .int64, default: 0)
    Attribute("writer4", .int64, default: 0)
    Attribute("writer5", .int64, default: 0)
    Attribute("writer6", .int64, default: 0)
    Attribute("writer7", .int64, default: 0)
  }

  /// Belongs to the view.
  var remark: Int {
    get { self[Self.remarkKey] }
    set { self[Self.remarkKey] = newValue }
  }

  /// The value of a writer's column.
  subscript(writer number: Int) -> Int {
    get { self[Self.columns[number]] }
    set { self[Self.columns[number]] = newValue }
  }

  /// All columns, the view's last.
  var values: [Int] { (0..<Self.writers).map { self[writer: $0] } + [remark] }
}

/// A record that writers insert and delete.
final class Ticket: ManagedObject {
  private static let numberKey = AttributeKey<Int>("number")

  static let entity = Entity("Ticket", class: Ticket.self) { Attribute("number", .int64) }

  var number: Int {
    get { self[Self.numberKey] }
    set { self[Self.numberKey] = newValue }
  }
}
