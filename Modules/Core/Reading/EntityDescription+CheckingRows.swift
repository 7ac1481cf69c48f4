extension EntityDescription {
  /// Throws unless the rows of a store are of this entity or its subentities. A row of another entity lacks slots that
  /// a read needs, and would end the process there. Costs one comparison for each row: successive rows mostly have one
  /// entity.
  ///
  /// - Throws: ``ErrorCode/storeCorrupt``.
  func check(_ rows: [Row]) throws {
    // Safety of `Unmanaged`: the references are compared, and the rows retain their entities.
    var last = Unmanaged.passUnretained(self).toOpaque()
    var stranger: EntityDescription?
    rows.forEachBorrowed { row in
      let entity = row.unmanagedEntity.toOpaque()
      guard entity != last, stranger == nil else { return }
      last = entity
      if !includes(row.entity) { stranger = row.entity }
    }
    if let stranger { throw refusal(of: stranger) }
  }

  /// Throws unless the row of a store is of this entity or its subentities.
  func check(_ row: Row) throws {
    if !includes(row.entity) { throw refusal(of: row.entity) }
  }

  /// Whether an entity is this one or a subentity. A store may have been opened with an equal model, whose entities
  /// have the same names.
  private func includes(_ other: EntityDescription) -> Bool {
    other.isKind(of: self) || sequence(first: other, next: \.superentity).contains { $0.name == name }
  }

  private func refusal(of stranger: EntityDescription) -> CoherenceError {
    CoherenceError(
      .storeCorrupt,
      "The store returned a row of '\(stranger.name)' for a read of '\(name)'; a store returns rows of the requested "
        + "entity and its subentities only.")
  }
}
