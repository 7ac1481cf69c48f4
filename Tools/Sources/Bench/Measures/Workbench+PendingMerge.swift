import Coherence

extension Workbench {
  /// Merges all rows into the stored rows, one in a hundred with changes, with and without pending edits.
  func pendingMergeMeasure() -> Measure {
    let (with, without) = ("Coherence, 10,000 pending edits", "Coherence, no pending edit")
    return Measure(
      name: "merge-pending", title: "Merge all records into a table of them, with pending edits, 1 % changed",
      items: people.count, item: "record",
      sides: [
        Side(name: without, role: .ours) { try self.mergeUnderEdits(0) },
        Side(name: with, role: .ours) { try self.mergeUnderEdits(10_000) },
      ],
      goals: [.between(with, and: without, atMost: 1.2)])
  }

  /// - Parameter count: The number of people with a pending edit, evenly among all people.
  private func mergeUnderEdits(_ count: Int) throws -> Sample {
    try scratch.with { file in
      let store = try MergeStore(file: file)
      _ = try store.merge(people.map { MergeRecord($0) })
      let step = max(1, people.count / max(1, count))
      let edited = stride(from: 0, to: count == 0 ? 0 : people.count, by: step).prefix(count).map { people[$0].id }
      try store.addPendingEdits(to: edited)
      let (seconds, result) = try store.merge(changedPeople.map { MergeRecord($0) })
      guard result.deleted == 0, result.inserted == 0, result.keptEdits == edited.count else {
        throw BenchError("The merge kept \(result.keptEdits) of \(edited.count) pending edits.")
      }
      try store.close()
      return Sample(amount: seconds)
    }
  }
}
