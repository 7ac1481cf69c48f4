/// One side of a link table: the records that are the sources, or the targets, of its links.
package struct LinkSide: Sendable {
  package let table: LinkTable
  /// Whether the records are the sources.
  package let isSource: Bool

  /// The entity of the records.
  package var entity: EntityDescription { isSource ? table.forward.entity : table.forward.destination }
}

extension LinkTable {
  /// The sources and the targets.
  fileprivate var sides: [LinkSide] { [true, false].map { LinkSide(table: self, isSource: $0) } }

  /// Whether a bound of a number of members, or a deny rule, depends on the links.
  fileprivate var isChecked: Bool {
    [forward, backward].contains { $0.map { $0.isBounded || $0.deleteRule == .deny } ?? false }
  }
}

extension StoreSaveRequest {
  /// The sides of ``comparedLinks`` at which records of an entity may have links.
  package func comparedSides(of entity: EntityDescription) -> [LinkSide] {
    comparedLinks.flatMap(\.sides).filter { entity.isKind(of: $0.entity) }
  }
}

extension RowChanges {
  /// The tables with links of deleted records on which a derived value, a number of members or a deny rule depends.
  func comparedLinks(in environment: StoreEnvironment) -> [LinkTable] {
    guard !deletes.isEmpty else { return [] }
    let derived = environment.model.derivations.links
    return environment.linkTables.filter { table in
      (derived[table] != nil || table.isChecked)
        && table.sides.contains { side in deletes.contains { $0.entity.isKind(of: side.entity) } }
    }
  }
}
