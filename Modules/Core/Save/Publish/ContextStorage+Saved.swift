extension ContextStorage {
  /// Drops saved records, which are retired, all at once when no others are unsaved.
  func forget(_ saved: [RecordChange]) {
    withPending {
      // Equal numbers alone prove nothing: one of the saved records may have left since, and another come.
      if saved.count == recordCount, saved.allSatisfy(\.isCurrent) {
        dropAll()
      } else {
        for change in saved { drop(change.record) }
        keepCurrent()
      }
    }
  }
}
