import CoherenceCore
import CoherenceReconciliation

/// The values that a merge's input expects of stored rows.
final class MergeExpectation: ExpectedValues {
  /// An existing record whose input has to-many relationships, which are compared after the scan.
  struct ListOwner {
    let index: Int
    let id: ManagedObjectID
  }

  private let input: any MergeInput
  private let layout: MergeLayout
  private let targets: MergeTargets
  private let pending: PendingReconciliation?
  private(set) var listOwners: [ListOwner] = []

  init(_ input: any MergeInput, layout: MergeLayout, targets: MergeTargets, pending: PendingReconciliation?) {
    self.pending = pending
    self.input = input
    self.layout = layout
    self.targets = targets
  }

  func readExpectedValues(
    _ index: Int, of id: ManagedObjectID, into values: inout [AttributeValue?]
  ) throws -> RowComparison {
    pending?.noteMatch(index, id)
    let links = try input.links(index)
    try input.readValues(index, into: &values, isChecked: false)
    for slot in layout.ignoredSlots { values[slot] = nil }
    // The row was found by its key.
    for slot in layout.keySlots { values[slot] = nil }
    if links.contains(where: { $0.relationship.isToMany }) { listOwners.append(ListOwner(index: index, id: id)) }
    var isComplete = true
    for (relationship, link) in links {
      if layout.ignores(relationship) { continue }
      // The condition may protect the row. The plan refuses the link of any other row.
      if targets.isMissing(link, of: relationship) { isComplete = false }
      guard let slot = relationship.slot else { continue }
      switch link.keys.first.flatMap({ targets.target($0, of: relationship, in: id.storeIdentifier) }) {
      case .existing(let id): values[slot] = .reference(id)
      case .new: isComplete = false
      case .deleted, .missing: continue
      case nil: values[slot] = .null
      }
    }
    if !isComplete { return .alwaysDifferent }
    // A record of a subentity has more slots than the store compares.
    return values.count == layout.entity.slotCount ? .inStore : .inScan
  }

  func comparedSlotCount(_ index: Int, of row: Row) -> Int {
    let own = input.entity(index)
    return row.entity.isKind(of: own) ? own.slotCount : layout.entity.slotCount
  }

  func noteDifference(_ index: Int, of row: Row, from values: [AttributeValue?]) {
    pending?.noteDifferences(index, of: row, from: values.prefix(comparedSlotCount(index, of: row)))
  }

  func forget(_ indexes: Set<Int>) {
    listOwners.removeAll { indexes.contains($0.index) }
    pending?.forget(indexes)
  }
}
