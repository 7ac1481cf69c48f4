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
}
