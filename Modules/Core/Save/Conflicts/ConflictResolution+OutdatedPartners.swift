// Partners in one-to-one relationships that the context shows in a former state. The resolution of a conflict brings the
// state of another writer's save into the context, but for the records in conflict alone: without the functions below,
// a record would lead to a partner that does not lead back.

extension ConflictResolution {
  /// Notes the records to which a reference leads in some rows of a record about which the policy has decided.
  mutating func notePartners(in rows: [Row?], at slot: Int) {
    for row in rows {
      if case .reference(let partner)? = row?[slot] { decidedPartners.insert(partner) }
    }
  }

  /// Reads the rows of noted partners that unchanged objects of the context show in a former state, and the rows of the
  /// former and present partners of these records, with one read for each step from partner to partner.
  mutating func readOutdatedPartners() throws {
    var due = decidedPartners
    decidedPartners = []
    var seen = due
    while !due.isEmpty {
      var shown: [ManagedObjectID: Row] = [:]
      for id in due {
        guard let object = context.storage.registry.object(for: id), object.pending == nil else { continue }
        shown[id] = object.row
      }
      due = []
      guard !shown.isEmpty else { return }
      let ids = Array(shown.keys)
      for row in try context.readingLatest({ try context.committedRows(ids) }) {
        guard let former = shown[row.id], former.version < row.version else { continue }
        partnerRows.append(row)
        for relationship in row.entity.relationships {
          guard let slot = relationship.slot, relationship.inverse?.slot != nil, former[slot] != row[slot] else {
            continue
          }
          for case .reference(let id) in [former[slot], row[slot]] where seen.insert(id).inserted { due.insert(id) }
        }
      }
    }
  }
}
