extension MergePolicy.Kind {
  /// The policy for the properties without a rule.
  var fallback: MergePolicy.Kind {
    if case .rules(_, let otherwise) = self { otherwise.fallback } else { self }
  }

  /// The rules in order of precedence: the first rule for a property wins.
  var rules: [MergeRule] {
    if case .rules(let rules, let otherwise) = self { rules + otherwise.rules } else { [] }
  }
}

extension MergePolicy {
  /// The slots of an entity whose merged value depends on both edits even when the edits are equal, such as the slots
  /// of sums.
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
  /// Whether the merge of two equal edits may give another value than the edits: 1 and 1 on top of 0 sum up to 2.
  fileprivate var combinesEqualEdits: Bool {
    switch decision {
    case .sum, .closure: true
    case .store, .context, .larger, .smaller: false
    }
  }
}
