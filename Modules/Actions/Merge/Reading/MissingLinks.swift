import CoherenceCore
import CoherenceReconciliation

/// The links of a merge's input to missing records, which the merge leaves out.
struct MissingLinks {
  let input: any MergeInput
  let inputByKey: InputIndex
  let layout: MergeLayout
  let targets: MergeTargets

  /// Returns the records to insert, apart from the records that need a missing record, directly or through each other.
  func remainder(of inserts: [Int]) throws -> [Int] {
    guard targets.hasMissingTargets else { return inserts }
    let refused = Set(try inserts.filter(needsMissingRecord))
    guard !refused.isEmpty else { return inserts }
    let dependents = try targets.dependents(on: refused, among: inserts, of: input)
    return inserts.filter { !refused.contains($0) && !dependents.contains($0) }
  }

  /// Whether a record to insert would violate a rule of its entity without its links to missing records: a relationship
  /// that is not optional, or the minimum number of members.
  private func needsMissingRecord(_ index: Int) throws -> Bool {
    try input.links(index).contains { relationship, link in
      if relationship.isToMany { return targets.hasTooFewMembers(link, of: relationship) }
      guard !relationship.isOptional, case .one(let key) = link else { return false }
      return targets.target(key, of: relationship) == .missing
    }
  }

  /// Returns the updates, changed to keep the targets of to-one relationships whose new targets are missing.
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

  /// Returns the number of links to missing records. A link counts in every merge that leaves it out, also if its
  /// record is unchanged or not inserted. The links of excluded and protected records do not count.
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
