extension ContextStorage {
  /// Stops tracking saved records, in one step if these are all unsaved records.
  func untrack(_ saved: [RecordChange]) {
    withPending {
      // Equal counts alone prove nothing: a saved record may have been untracked since the plan was made, and another
      // record tracked.
      if saved.count == recordCount, saved.allSatisfy(\.isCurrent) {
        dropAll()
      } else {
        for change in saved { drop(change.record) }
        keepCurrent()
      }
    }
  }
}
