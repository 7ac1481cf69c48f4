import CoherenceCore
import Foundation

/// Writes the changes of a save in the format of the log, directly from the rows of the save.
struct LogWriter: ~Copyable {
  /// The sequence of the first change; `nil` without a change.
  private(set) var firstSequence: Int64?
  private var writer = EntryWriter()
  /// The names of entities and roots that are written already; later changes refer to them by index.
  private var names: [String] = []
  /// The indices of the names of the last change's entity, so that a run of changes of one entity compares no texts.
  private var last: (entity: ObjectIdentifier, name: Int, root: Int)?

  /// The number of bytes after which another record of the log begins. One transaction makes all entries of a record of
  /// the log, so that this limits the size of a transaction.
  private static let limit = 65_536

  var isFull: Bool { writer.count >= Self.limit }
  var payload: Data { writer.data }

  init() {
    withUnsafeBytes(of: UUID.random().uuid) { writer.write(bytes: $0) }
  }

  /// Adds a change. An update is left out if only the entries of other records describe it.
  mutating func add(_ change: RecordedChange, _ entity: RecordedEntity, sequence: Int64) {
    let members = change.members.isEmpty ? [] : EntryContent.members(of: change, entity)
    let (count, isLarge) = entity.extent(of: change)
    if change.kind == .updated, count == 0, members.isEmpty { return }
    writeHead(of: change, sequence: sequence)
    writeIdentity(of: change, entity)
    if isLarge {
      let content = EntryContent(
        EntryContent.fields(of: change, entity), members, keepsLargeValues: change.kind != .deleted)
      writer.writePart(content.references)
      writer.writePart(content.payload)
      writer.writePart(content.whole)
      return
    }
    if members.isEmpty, !entity.hasReferences {
      writer.writeEmptyPart()
    } else {
      writer.writePart(EntryContent.references(EntryContent.fields(of: change, entity), members))
    }
    let start = writer.beginPart()
    writer.write(count: count)
    writeValues(of: change, entity)
    writer.write(members)
    writer.endPart(start)
    writer.writeEmptyPart()
  }

  private mutating func writeHead(of change: RecordedChange, sequence: Int64) {
    let first = firstSequence ?? sequence
    firstSequence = first
    writer.write(byte: UInt8(OutboxEntryKind(change.kind).rawValue))
    writer.write(signed: sequence - first)
    let entity = ObjectIdentifier(change.entity)
    if let last, last.entity == entity {
      writer.write(count: last.name)
      writer.write(count: last.root)
    } else {
      last = (entity, write(name: change.entity.name), write(name: change.entity.root.name))
    }
    writer.write(signed: change.id.key)
    // A deleted record has no version after the save: the next number orders the delete after the other entries.
    writer.write(signed: change.row?.version ?? (change.base?.version ?? 0) + 1)
  }

  /// - Returns: The index of the name.
  private mutating func write(name: String) -> Int {
    let index = names.firstIndex(of: name) ?? names.count
    writer.write(count: index)
    guard index == names.count else { return index }
    writer.write(text: name)
    names.append(name)
    return index
  }

  private mutating func writeIdentity(of change: RecordedChange, _ entity: RecordedEntity) {
    guard !entity.identity.isEmpty, let row = change.base ?? change.row else { return writer.writeEmptyPart() }
    let start = writer.beginPart()
    writer.write(count: entity.identity.count)
    for field in entity.identity {
      writer.write(text: field.name)
      writer.write(byte: EntryFormat.FieldFlag.value)
      writer.write(row[field.slot])
    }
    writer.endPart(start)
  }

  private mutating func writeValues(of change: RecordedChange, _ entity: RecordedEntity) {
    let (base, row) = (change.base, change.row)
    let flags =
      (base == nil ? 0 : EntryFormat.FieldFlag.base) | (row == nil ? 0 : EntryFormat.FieldFlag.value)
    entity.encodedNames.withUnsafeBytes { names in
      for field in entity.encodedFields where change.isRecorded(field.slot, isServerAssigned: field.isServerAssigned) {
        writer.write(bytes: UnsafeRawBufferPointer(rebasing: names[field.name]))
        writer.write(byte: flags)
        if let base { writer.write(base[field.slot]) }
        if let row { writer.write(row[field.slot]) }
      }
    }
  }
}

extension RecordedEntity {
  /// The number of values in the entry of a change, and whether a value is too large for its payload.
  fileprivate func extent(of change: RecordedChange) -> (count: Int, isLarge: Bool) {
    var count = 0
    var isLarge = false
    for field in encodedFields where change.isRecorded(field.slot, isServerAssigned: field.isServerAssigned) {
      count += 1
      guard field.mayBeLarge, !isLarge else { continue }
      isLarge = change.row?[field.slot].isLarge == true || change.base?[field.slot].isLarge == true
    }
    return (count, isLarge)
  }
}

extension AttributeValue {
  fileprivate var isLarge: Bool {
    switch self {
    case .string(let text): text.utf8.count > EntryFormat.largestInlineValue
    case .data(let data): data.count > EntryFormat.largestInlineValue
    default: false
    }
  }
}
