/// The requests that the entries of one record stand for.
///
/// The plan is a pure function of the entries: each forwarder makes the same plan of the same entries.
struct OutboxPlan: Sendable {
  /// The requests in their order. Each waits for the one before.
  let steps: [OutboxStep]
  /// The entries without an effect, such as the insert and the delete of a record that the server never had.
  let cancelled: [OutboxEntry]

  /// Plans the entries of one record.
  ///
  /// - Parameter entries: All entries of the record, or the first of them, in any order.
  init(entries: [OutboxEntry]) {
    let entries = entries.sorted { $0.precedes($1) }
    var steps: [OutboxStep] = []
    var cancelled: [OutboxEntry] = []
    for group in EntryGroup.groups(of: entries.map(\.facts)) {
      let part = Array(entries[group.range])
      guard group.outcome != .nothing else {
        cancelled += part
        continue
      }
      let step = OutboxStep(part, outcome: group.outcome)
      // Only edits that no request had before are known to be without an effect.
      if step.isEmptyUpdate,
        part.allSatisfy({ $0.isReadable && !$0.facts.isAttempted && $0.state == .pending })
      {
        cancelled += part
      } else {
        steps.append(step)
      }
    }
    self.steps = steps
    self.cancelled = cancelled
  }
}
