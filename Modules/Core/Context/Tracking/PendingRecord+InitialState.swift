/// The difference between the changed slots of an inserted record and the slots that its user assigned. A merge policy
/// treats assigned values and defaults differently.
struct InitialState {
  /// The default values that hooks of a new object set, by slot.
  var defaults: [Int: AttributeValue] = [:]
}

extension PendingRecord {
  /// The slots of an inserted record with assigned values, without defaults of the model or of a hook.
  var assignedSlots: SlotSet {
    guard let initialState else { return changed }
    var slots = changed
    for (slot, value) in initialState.defaults where draft[slot] == value { slots.remove(slot) }
    return slots
  }

  /// Records the values set since an earlier moment as defaults. References stay assignments, because they also change
  /// another record.
  ///
  /// - Parameter former: The changed slots at the earlier moment.
  func noteDefaults(since former: SlotSet = SlotSet()) {
    guard changed != former else { return }
    for slot in changed where !former.contains(slot) {
      guard case .attribute = entity.slots[slot] else { continue }
      var state = initialState ?? InitialState()
      state.defaults[slot] = draft[slot]
      initialState = state
    }
  }
}
