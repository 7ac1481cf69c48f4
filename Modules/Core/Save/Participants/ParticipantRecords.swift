/// The records that participants add to a save in one store, by entity.
struct ParticipantRecords {
  struct Group {
    let entity: EntityDescription
    var rows: [Row]
  }

  private(set) var groups: [Group] = []

  var isEmpty: Bool { groups.isEmpty }
  var rows: [Row] { groups.flatMap(\.rows) }

  /// Whether some of the records are of exactly this entity.
  func have(_ entity: EntityDescription) -> Bool { groups.contains { $0.entity === entity } }

  mutating func append(_ row: Row) {
    if let index = groups.firstIndex(where: { $0.entity === row.entity }) {
      groups[index].rows.append(row)
    } else {
      groups.append(Group(entity: row.entity, rows: [row]))
    }
  }

  mutating func append(_ others: ParticipantRecords) {
    if groups.isEmpty { return groups = others.groups }
    for row in others.groups.lazy.flatMap(\.rows) { append(row) }
  }
}

extension RowChanges {
  /// The changes with the records of participants.
  func adding(_ records: ParticipantRecords) -> RowChanges {
    guard !records.isEmpty else { return self }
    var result = self
    for group in records.groups {
      for row in group.rows { _ = result.insert(row, of: group.entity) }
    }
    return result
  }
}

extension EntityChangeList {
  /// Adds the records that participants added to a save.
  mutating func add(_ records: ParticipantRecords) {
    for group in records.groups { add(group.rows.lazy.map(\.id), of: group.entity, as: .inserted) }
  }
}
