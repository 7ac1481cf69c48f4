extension UndoHistory {
  /// Reverts the changes of a group.
  ///
  /// - Throws: Errors of the store. A part of the changes may be reverted then.
  func revert(_ group: UndoGroup, in context: ManagedObjectContext) throws {
    // Deleted objects are restored first, because other steps may refer to them.
    let existing = try context.restore(group.deletes.reversed(), by: self)
    var steps = group.stepsToRevert
    if !existing.isEmpty { steps.removeAll { context.changesValue($0, ofOneOf: existing, by: self) } }
    let members = try context.loadMembers(restoredBy: steps, by: self)
    defer { withExtendedLifetime(members) {} }
    for step in steps { try context.revert(step, by: self) }
    for step in steps { try context.restorePosition(changedBy: step, by: self) }
    for step in steps { context.forgetRestoredMembers(of: step, by: self) }
    if !existing.isEmpty { try context.relate(existing, in: steps, by: self) }
    try context.applyPendingDeleteRules()
  }
}
