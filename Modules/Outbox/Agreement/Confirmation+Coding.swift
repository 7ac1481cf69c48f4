import CoherenceCore
import Foundation

// The form of confirmations in the store; see ``EntryFormat``.

extension Confirmation {
  /// Encodes confirmations of records of one store. Only the sizes of large values are kept.
  static func data(of confirmations: [Confirmation]) -> Data {
    var writer = EntryWriter()
    writer.write(count: confirmations.count)
    for confirmation in confirmations { confirmation.write(to: &writer) }
    return writer.data
  }

  private func write(to writer: inout EntryWriter) {
    writer.write(byte: UInt8(kind.rawValue))
    writer.write(text: entityName)
    writer.write(subject.record)
    writer.write(
      identity.sorted { $0.key < $1.key }.map {
        EntryFormat.Field(name: $0.key, base: nil, value: OutboxValue(recording: $0.value))
      })
    writer.write(formerValues)
    writer.write(
      members.map {
        EntryFormat.Members(
          name: $0.name, added: $0.added, removed: $0.removed, isReordered: $0.isReordered, isOwner: $0.isOwner)
      })
  }

  /// The former values of the properties as fields: a field for each value, and a field with an omitted value for each
  /// of ``omittedNames``.
  private var formerValues: [EntryFormat.Field] {
    let fields = outdated.sorted { $0.key < $1.key }.flatMap { name, values in
      values.map { EntryFormat.Field(name: name, base: $0.withoutLargeValue, value: nil) }
    }
    return fields
      + omittedNames.sorted().map { EntryFormat.Field(name: $0, base: .omitted(byteCount: 0), value: nil) }
  }

  /// Decodes confirmations of records of a store, with the names of the present model.
  ///
  /// - Throws: ``ErrorCode/storeCorrupt``.
  static func decoded(
    _ data: Data, of store: StoreIdentifier, _ names: RecordedNames
  ) throws(CoherenceError) -> [Confirmation] {
    var reader = try EntryReader(data)
    var result: [Confirmation] = []
    for _ in 0..<(try reader.count()) { result.append(try Confirmation(from: &reader, of: store, names)) }
    try reader.finish()
    return result
  }

  private init(
    from reader: inout EntryReader, of store: StoreIdentifier, _ names: RecordedNames
  ) throws(CoherenceError) {
    guard let kind = OutboxEntryKind(rawValue: Int16(try reader.byte())) else { throw EntryReader.unreadable }
    let recordedName = try reader.text()
    let entity = names.entity(recordedName)
    let record = names.record(try reader.record())
    func present(_ name: String) -> String? { entity?.property(recordedAs: name)?.name }
    var identity: [String: AttributeValue] = [:]
    for field in try reader.fields() {
      if let name = present(field.name), let value = field.value?.attributeValue { identity[name] = value }
    }
    let formerValues = try reader.fields()
    let members = try reader.members().map { change in
      let name = present(change.name)
      return OutboxMembers(
        name: name ?? change.name, recordedName: change.name, isKnown: name != nil, added: change.added,
        removed: change.removed, isReordered: change.isReordered, isOwner: change.isOwner)
    }
    self.init(
      of: Subject(store: store, record: record), entityName: entity?.name ?? recordedName, kind, members, identity)
    for field in formerValues {
      if let name = present(field.name), let value = field.base { add(value, name) }
    }
  }
}
