extension ContextStorage {
  /// Stops tracking saved records, in one step if they are all unsaved records of the context.
  func untrack(_ saved: [RecordChange]) {
    withPending {
      // Equal counts alone prove nothing: since the plan, the context may have untracked a saved record and tracked
      // another record.
      if saved.count == unsaved.count, saved.allSatisfy(\.isTracked) {
        dropAll()
      } else {
        for change in saved { drop(change.record) }
        removeUntracked()
      }
    }
  }

  /// Stops tracking saved deletes of records without objects. Notifications leave the records out.
  func untrack(bareDeletes: [RecordChange]) {
    guard !bareDeletes.isEmpty else { return }
    withPending {
      let areAll = bareDeletes.count == unsaved.count && bareDeletes.allSatisfy(\.isTracked)
      if areAll { dropAll() }
      for change in bareDeletes {
        let record = change.record
        if areAll { record.isTracked = false } else { drop(record) }
        record.isSilent = true
      }
      if !areAll { removeUntracked() }
    }
  }
}
