import CoherenceCore
import Foundation

/// The record of one conflict. A changed record has at most one conflict.
final class OutboxConflictRecord: ManagedObject, DeclaredEntity {
  struct Properties: EntityProperties {
    static let table = Properties()
    let entityName = AttributeKey<String>("entityName")
    let rootName = AttributeKey<String>("rootName")
    let recordKey = AttributeKey<Int64>("recordKey")
    let kind = AttributeKey<OutboxConflictKind>("kind")
    let detected = AttributeKey<Date>("detected")
    let names = AttributeKey<String>("names")
    let payload = AttributeKey<Data>("payload")
  }

  static var entityName: String { "CoherenceOutboxConflict" }
  static var entityDeclaration: Entity {
    Entity(entityName, class: OutboxConflictRecord.self, indexes: [["recordKey"]]) {
      Attribute("entityName", .string)
      Attribute("rootName", .string)
      Attribute("recordKey", .int64)
      Attribute("kind", OutboxConflictKind.attributeType)
      Attribute("detected", .date)
      Attribute("names", .string)
      Attribute("payload", .data)
    }
  }

  /// The name that the record's entity had in the model at the time of the conflict.
  var entityName: String {
    get { self[Properties.table.entityName] }
    set { self[Properties.table.entityName] = newValue }
  }
  /// The name of the root of the entity's hierarchy.
  var rootName: String {
    get { self[Properties.table.rootName] }
    set { self[Properties.table.rootName] = newValue }
  }
  /// The key of the record in its hierarchy and store.
  var recordKey: Int64 {
    get { self[Properties.table.recordKey] }
    set { self[Properties.table.recordKey] = newValue }
  }
  var kind: OutboxConflictKind {
    get { self[Properties.table.kind] }
    set { self[Properties.table.kind] = newValue }
  }
  /// The time at which a merge or a reply of the server found the conflict, or last changed the server's values in it.
  var detected: Date {
    get { self[Properties.table.detected] }
    set { self[Properties.table.detected] = newValue }
  }
  /// The names of the properties in conflict as one text; see ``text(ofNames:)``.
  var names: String {
    get { self[Properties.table.names] }
    set { self[Properties.table.names] = newValue }
  }
  /// The server's values and their bases, in the format of ``EntryWriter``.
  var payload: Data {
    get { self[Properties.table.payload] }
    set { self[Properties.table.payload] = newValue }
  }
}

// MARK: - Names as one text

extension OutboxConflictRecord {
  /// The text of sorted names: separated by line feeds, with each line feed and backslash in a name escaped. A model may
  /// have any name.
  static func text(ofNames names: Set<String>) -> String {
    var text = String.UnicodeScalarView()
    for (index, name) in names.sorted().enumerated() {
      if index > 0 { text.append("\n") }
      for scalar in name.unicodeScalars {
        if scalar == "\n" || scalar == "\\" { text.append("\\") }
        text.append(scalar == "\n" ? "n" : scalar)
      }
    }
    return String(text)
  }

  /// The names in a text.
  static func names(inText text: String) -> Set<String> {
    var names: Set<String> = []
    var name = String.UnicodeScalarView()
    var isEscaped = false
    for scalar in text.unicodeScalars {
      switch scalar {
      case "n" where isEscaped: name.append("\n")
      case "\\" where !isEscaped:
        isEscaped = true
        continue
      case "\n" where !isEscaped:
        names.insert(String(name))
        name.removeAll()
      default: name.append(scalar)
      }
      isEscaped = false
    }
    if !name.isEmpty { names.insert(String(name)) }
    return names
  }
}
