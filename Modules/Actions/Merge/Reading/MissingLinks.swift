import CoherenceCore
import CoherenceReconciliation

/// The links of a merge's input to missing records, which the merge leaves out.
struct MissingLinks {
  let input: any MergeInput
  let inputByKey: InputIndex
  let layout: MergeLayout
  let targets: MergeTargets

  /// Returns the records to insert without those that need a missing record, directly or by each other.
  func remainder(of inserts: [Int]) throws -> [Int] {
    guard targets.hasMissingTargets else { return inserts }
    let refused = Set(try inserts.filter(needsMissingRecord))
    guard !refused.isEmpty else { return inserts }
    let dependents = try targets.dependents(on: refused, among: inserts, of: input)
    return inserts.filter { !refused.contains($0) && !dependents.contains($0) }
  }

  private func needsMissingRecord(_ index: Int) throws -> Bool {
    try input.links(index).contains { relationship, link in
      if relationship.isToMany {
        let members = targets.members(link, of: relationship).count
        return members < relationship.minimumCount && link.keys.count >= relationship.minimumCount
      }
      guard !relationship.isOptional, case .one(let key) = link else { return false }
      return targets.target(key, of: relationship) == .missing
    }
  }

  /// Returns updates that keep the targets of to-one relationships whose new targets are missing.
  func keepingTargets(of updates: [MergePlan.Update]) throws -> [MergePlan.Update] {
    guard targets.hasMissingTargets else { return updates }
    return try updates.map { update in
      var update = update
      for (relationship, link) in try input.links(update.index) {
        guard let slot = relationship.slot, targets.isLeftOut(link, of: relationship) else { continue }
        update.keptSlots.insert(slot)
      }
      return update
    }
  }

  /// The number of the links, apart from those of excluded records.
  ///
  /// - Parameter protected: The indexes of input records whose rows the condition protects.
  func count(besides protected: Set<Int>) throws -> Int {
    guard targets.hasMissingTargets else { return 0 }
    var count = 0
    for index in 0..<input.count where !inputByKey.isExcluded(index) && !protected.contains(index) {
      for (relationship, link) in try input.links(index) where !layout.ignores(relationship) {
        count += link.keys.count { targets.target($0, of: relationship) == .missing }
      }
    }
    return count
  }
}
