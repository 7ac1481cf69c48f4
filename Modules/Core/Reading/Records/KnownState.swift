/// The knowledge about a record's present state in its store.
enum KnownState {
  case row(Row)
  /// The record does not exist.
  case gone
  /// The state is unknown, so that the row must be read.
  case unread

  var isRow: Bool { if case .row = self { true } else { false } }
}

extension RecordState {
  /// Whether the state has unsaved changes of the context itself.
  var isUnsaved: Bool { if case .pending = values { true } else { false } }

  /// The version of the row, or of the row on which the changes are based.
  var version: Int64 {
    switch values {
    case .row(let row): row.version
    case .pending(let record): record.base?.version ?? 0
    }
  }
}

extension ManagedObjectContext {
  /// Gives a registered object without unsaved changes a newer row, as a fetch does.
  final func renewObject(of state: RecordState) {
    guard case .row(let row) = state.values, let object = storage.registry.object(for: row.id), object.pending == nil,
      let oldRow = object.row, oldRow.version < row.version
    else { return }
    object.row = row
    noteRefreshed(object)
  }

  /// Returns the states of records as a fetch would see them; `nil` for a deleted or missing record. Reads unknown rows
  /// together.
  final func states(
    of knownStates: [ManagedObjectID: KnownState], includingUnsaved: Bool
  ) throws -> [ManagedObjectID: RecordState?] {
    var result: [ManagedObjectID: RecordState?] = [:]
    var inherited: [InheritedRecord] = []
    var unread: [ManagedObjectID] = []
    for (id, state) in knownStates {
      if includingUnsaved, let record = storage.record(for: id), !record.isUnchanged {
        result[id] = .some(record.kind == .deleted ? nil : RecordState(record))
      } else if includingUnsaved, let record = inheritedRecord(of: id) {
        result[id] = .some(nil)
        if !record.isDeleted { inherited.append(record) }
      } else {
        switch state {
        case .row(let row): result[id] = RecordState(row)
        case .gone: result[id] = .some(nil)
        case .unread:
          result[id] = .some(nil)
          unread.append(id)
        }
      }
    }
    for row in try rows(of: inherited) + committedRows(unread) { result[row.id] = RecordState(row) }
    return result
  }

  /// The records of a hierarchy with unsaved changes of this context or its parents.
  final func unsavedIDs(of root: EntityDescription) -> Set<ManagedObjectID> {
    var result: Set<ManagedObjectID> = []
    var context: ManagedObjectContext? = self
    while let current = context {
      let storage = current.storage
      storage.withPending {
        for record in storage.records where record.entity.root === root && !record.isUnchanged {
          result.insert(record.id)
        }
      }
      context = current.parent(readBy: self)
    }
    return result
  }
}
