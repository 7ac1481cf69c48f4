extension MergePolicy.Kind {
  /// The policy for the properties without a rule.
  var fallback: MergePolicy.Kind {
    if case .rules(_, let otherwise) = self { otherwise.fallback } else { self }
  }

  /// The rules, the earlier of two rules for a property first.
  var rules: [MergeRule] {
    if case .rules(let rules, let otherwise) = self { rules + otherwise.rules } else { [] }
  }
}

extension MergePolicy {
  /// The slots of an entity whose merged value depends on the edits of both writers, though the edits may be equal.
  func combinedSlots(of entity: EntityDescription) -> SlotSet {
    guard case .rules = kind else { return SlotSet() }
    var slots = SlotSet()
    for (slot, rule) in rules(for: entity) where rule.combinesEqualEdits { slots.insert(slot) }
    return slots
  }

  /// The rules for the records of an entity, by slot.
  func rules(for entity: EntityDescription) -> [Int: MergeRule] {
    var result: [Int: MergeRule] = [:]
    for rule in kind.rules where rule.applies(entity) {
      guard let property = entity.propertiesByName[rule.propertyName] else { continue }
      let slot = property.slotInRow
      if slot >= 0, result[slot] == nil { result[slot] = rule }
    }
    return result
  }
}

extension MergeRule {
  /// Whether two equal edits make another value than one of them.
  fileprivate var combinesEqualEdits: Bool {
    switch decision {
    case .sum, .closure: true
    case .store, .context, .larger, .smaller: false
    }
  }
}
