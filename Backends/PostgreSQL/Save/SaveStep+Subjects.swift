import CoherenceCore
import CoherenceSQL

extension SaveStep {
  /// Whether the step changes rows at their base versions only, so that each of its rows must be found.
  var requiresBaseVersions: Bool {
    switch self {
    case .update, .delete: true
    case .insert, .fix, .link, .unlink: false
    }
  }

  /// The subject of a statement on these elements; empty for several.
  func subjects(at elements: Range<Int>) -> [SaveSubject] {
    elements.count == 1 ? [subject(at: elements.lowerBound)] : []
  }

  /// The subjects of the deletes of records with some keys.
  func subjects(deleting keys: [Int64]) -> [SaveSubject] {
    guard !keys.isEmpty, case .delete(_, let deletes) = self else { return [] }
    let keys = Set(keys)
    return deletes.filter { keys.contains($0.id.key) }.map(SaveSubject.delete)
  }

  private func subject(at index: Int) -> SaveSubject {
    switch self {
    case .insert(_, let rows), .fix(_, _, let rows): .row(rows[index], baseVersion: nil)
    case .update(_, _, let updates): .row(updates[index].row, baseVersion: updates[index].baseVersion)
    case .delete(_, let deletes): .delete(deletes[index])
    case .link(let table, let links), .unlink(let table, let links): .link(table, links[index])
    }
  }
}
