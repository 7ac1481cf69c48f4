extension MergePolicy {
  /// The decision about the saver's change of one record.
  enum Resolution {
    case fail
    /// The save writes these values.
    case write([AttributeValue])
    case delete
    /// The saver's changes are discarded.
    case discard
  }

  /// Decides about one conflict.
  ///
  /// - Parameters:
  ///   - changed: The slots that the saver changed.
  ///   - mergesProperties: Whether changes of different properties merge without a conflict, as they do when a context
  ///     refreshes a row before its save.
  func resolve(_ conflict: Conflict, changed: SlotSet, mergesProperties: Bool) throws -> Resolution {
    if mergesProperties, let values = valuesWithoutConflict(conflict, changed) { return .write(values) }
    let isAllowed = try allows?(conflict) ?? true
    let resolution = isAllowed ? try decision(conflict, changed: changed) : .discard
    switch resolution {
    case .write, .delete: observer?(conflict, false)
    case .discard: observer?(conflict, true)
    case .fail: break
    }
    return resolution
  }

  /// The values of edits that are no conflict where properties are compared; `nil` for a conflict, and under a policy with
  /// a rule for the record or with another fallback than ``error``.
  private func valuesWithoutConflict(_ conflict: Conflict, _ changed: SlotSet) -> [AttributeValue]? {
    guard case .error = kind.fallback, let store = conflict.store, rules(for: store.entity).isEmpty else { return nil }
    return conflict.mergedProperties(changed)
  }

  /// Whether the saver's order of a list wins.
  func keepsOrder(of list: ListConflict) -> Bool {
    if case .storeTrumps = kind.fallback { list.ancestor == nil || list.ancestor == list.store } else { true }
  }

  /// Decides by the rules of properties, and by the fallback for properties without a rule.
  private func decision(_ conflict: Conflict, changed: SlotSet) throws -> Resolution {
    guard case .rules = kind, let mine = conflict.mine, let store = conflict.store else {
      return try Self.decision(by: kind.fallback, conflict, changed: changed)
    }
    let ruled = try ruledValues(conflict, mine, store, changed)
    guard !ruled.isEmpty else { return try Self.decision(by: kind.fallback, conflict, changed: changed) }
    var values: [AttributeValue]
    if case .error = kind.fallback {
      var slotsWithoutRule = changed
      for slot in ruled.keys { slotsWithoutRule.remove(slot) }
      guard let merged = conflict.mergedProperties(slotsWithoutRule) else { return .fail }
      values = merged
    } else {
      switch try Self.decision(by: kind.fallback, conflict, changed: changed) {
      case .write(let decided): values = decided
      case .discard where ruled.contains { store[$0.key] != $0.value }: values = store.values
      case let resolution: return resolution
      }
    }
    for (slot, value) in ruled { values[slot] = value }
    Self.choosePositions(of: mine, store, in: &values)
    return .write(values)
  }

  /// The values of the properties with a rule, by slot.
  private func ruledValues(
    _ conflict: Conflict, _ mine: Row, _ store: Row, _ changed: SlotSet
  ) throws -> [Int: AttributeValue] {
    let rules = rules(for: store.entity)
    var result: [Int: AttributeValue] = [:]
    // The writers' values are validated already, so that the check gets the store's row with the computed values only.
    var unchecked = store.values
    for (slot, rule) in rules.sorted(by: { $0.key < $1.key }) where slot < mine.count {
      guard changed.contains(slot) else {
        result[slot] = store[slot]
        continue
      }
      if let base = conflict.ancestor?[slot], base == store[slot] {
        result[slot] = mine[slot]
        continue
      }
      let value = try rule.value(conflict.ancestor?[slot], mine[slot], store[slot])
      result[slot] = value
      if value != mine[slot] { unchecked[slot] = value }
    }
    var check = PolicyValueCheck(of: conflict)
    let checked = try check.checked(unchecked)
    for slot in result.keys where unchecked[slot] != store[slot] { result[slot] = checked[slot] }
    return result
  }

  /// Decides by a policy for whole records.
  private static func decision(by kind: Kind, _ conflict: Conflict, changed: SlotSet) throws -> Resolution {
    switch kind {
    case .rules: return .fail
    case .error: return .fail
    case .rollback: return .discard
    case .custom(let resolve):
      guard let values = try resolve(conflict) else { return .discard }
      var check = PolicyValueCheck(of: conflict)
      var checked = try check.checked(values)
      if let mine = conflict.mine, let store = conflict.store { Self.choosePositions(of: mine, store, in: &checked) }
      return .write(checked)
    case .storeTrumps:
      guard let mine = conflict.mine, let store = conflict.store else { return .discard }
      var values = store.values
      for slot in changed where conflict.ancestor?[slot] == store[slot] { values[slot] = mine[slot] }
      Self.choosePositions(of: mine, store, in: &values)
      return .write(values)
    case .objectTrumps:
      guard let mine = conflict.mine else { return .delete }
      guard let store = conflict.store else { return .write(mine.values) }
      var values = store.values
      for slot in changed { values[slot] = mine[slot] }
      Self.choosePositions(of: mine, store, in: &values)
      return .write(values)
    case .overwrite:
      guard let mine = conflict.mine else { return .delete }
      return .write(mine.values)
    }
  }

  /// Chooses each position from the writer whose reference to the owner wins: a position is meaningless in another
  /// owner's list. The reference is in the slot before the position.
  private static func choosePositions(of mine: Row, _ store: Row, in values: inout [AttributeValue]) {
    for slot in values.indices.dropFirst() {
      guard case .position = mine.entity.slots[slot], mine[slot - 1] != store[slot - 1] else { continue }
      values[slot] = values[slot - 1] == mine[slot - 1] ? mine[slot] : store[slot]
    }
  }
}

extension Conflict {
  /// The store's values with the saver's changes on top; `nil` when both writers changed the same property to different
  /// values, and when the saver changes an ordered list.
  ///
  /// - Parameter changed: The slots that the saver changed.
  func mergedProperties(_ changed: SlotSet) -> [AttributeValue]? {
    guard let ancestor, let mine, let store, lists.isEmpty else { return nil }
    var values = store.values
    for slot in changed {
      if case .position = mine.entity.slots[slot] { return nil }
      // A derived value, which each save computes, is no edit.
      if case .attribute(let attribute) = mine.entity.slots[slot], attribute.derivation != nil { continue }
      guard store[slot] == ancestor[slot] || store[slot] == mine[slot] else { return nil }
      values[slot] = mine[slot]
    }
    return values
  }
}
