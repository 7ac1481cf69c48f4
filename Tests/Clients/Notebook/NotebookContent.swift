import CoherenceCore

/// The content of a notebook as one value, so that a copy is a snapshot.
struct NotebookContent: Sendable {
  /// A record: its values by the names of their slots. A reference is the target's key, as an integer.
  struct Note: Sendable {
    var entity: String
    var version: Int64
    var values: [String: AttributeValue]
  }

  /// The two sides of a link.
  struct Ends: Sendable, Hashable {
    let source: Int64
    let target: Int64

    init(_ link: Link) {
      source = link.source
      target = link.target
    }
  }

  var metadata: StoreMetadata
  /// The records, by the name of their hierarchy's root and by key.
  var notes: [String: [Int64: Note]] = [:]
  /// The links, by the name of their table and by their ends.
  var links: [String: [Ends: Link]] = [:]
  /// The last allocated key, by the name of the hierarchy's root.
  var lastKeys: [String: Int64] = [:]

  init(metadata: StoreMetadata) { self.metadata = metadata }

  /// The record of a key.
  subscript(root: EntityDescription, key: Int64) -> Note? {
    get { notes[root.root.name]?[key] }
    set { notes[root.root.name, default: [:]][key] = newValue }
  }
}

// MARK: - Between rows and notes

extension NotebookContent.Note {
  init(_ row: Row) {
    self.init(entity: row.entity.name, version: row.version, values: [:])
    for slot in 0..<row.count { self[slot, of: row.entity] = row[slot] }
  }

  /// The value of a slot in the form of the notebook.
  subscript(slot: Int, of entity: EntityDescription) -> AttributeValue {
    get { values[entity.slots[slot].name] ?? .null }
    set {
      let plain = if case .reference(let id) = newValue { AttributeValue.int(id.key) } else { newValue }
      values[entity.slots[slot].name] = plain.isNull ? nil : plain
    }
  }
}

extension NotebookContent {
  /// Returns the row for a record of the notebook.
  ///
  /// - Throws: ``ErrorCode/storeCorrupt`` when the note's entity is not in the model.
  func row(_ note: Note, key: Int64, _ environment: StoreEnvironment, _ spaces: IDSpaces) throws -> Row {
    guard let entity = environment.model.entitiesByName[note.entity] else {
      throw CoherenceError(.storeCorrupt, "The notebook has a record of '\(note.entity)', which the model lacks.")
    }
    return Row.make(id: ManagedObjectID(space: spaces[entity], key: key), entity: entity, version: note.version) {
      writer in
      for (slot, meaning) in entity.slots.enumerated() {
        let value = note[slot, of: entity]
        if case .reference(let relationship) = meaning, case .int(let target) = value {
          writer.append(.reference(ManagedObjectID(space: spaces[relationship.destination], key: target)))
        } else {
          writer.append(value)
        }
      }
    }
  }
}
