import CoherenceCore

/// The first difference between the stores of a sequence.
struct DifferentialMismatch: Sendable {
  /// The number of the step; `nil` for the final content of the stores.
  var step: Int?
  /// The outcomes of the step, by the name of the store.
  var outcomes: [(store: String, text: String)]
}

/// Runs a sequence on several stores in step, and compares each outcome with the first store's.
struct DifferentialComparison {
  let worlds: [DifferentialWorld]

  /// Finds the first difference.
  ///
  /// - Parameter note: Called for each step with its outcomes, the first store's first.
  func run(
    _ sequence: DifferentialSequence, note: (DifferentialOperation, [DifferentialOutcome]) -> Void = { _, _ in }
  ) -> DifferentialMismatch? {
    for world in worlds { world.beginSequence(sequence.contexts) }
    defer { for world in worlds { world.endSequence() } }
    for (step, operation) in sequence.operations.enumerated() {
      let outcomes = worlds.map { $0.run(operation) }
      note(operation, outcomes)
      guard outcomes.allSatisfy({ $0.isAdmissible(besides: outcomes[0]) }) else {
        return mismatch(at: step, outcomes.map(\.text))
      }
    }
    return compareContents()
  }

  /// Compares the content of the stores as fetched by fresh contexts.
  private func compareContents() -> DifferentialMismatch? {
    let dumps = worlds.map { world -> [String] in
      do { return try world.dump() } catch { return [DifferentialOutcome(error, name: world.name).text] }
    }
    guard let place = dumps.firstDifference else { return nil }
    return mismatch(at: nil, dumps.map { place < $0.count ? $0[place] : "nothing" })
  }

  private func mismatch(at step: Int?, _ texts: [String]) -> DifferentialMismatch {
    DifferentialMismatch(step: step, outcomes: zip(worlds, texts).map { ($0.storeName, $1) })
  }
}

extension [[String]] {
  /// The first place at which not all lists have the same.
  fileprivate var firstDifference: Int? {
    let length = map(\.count).max() ?? 0
    return (0..<length).first { place in
      contains { $0.count <= place || $0[place] != self[0][Swift.min(place, self[0].count - 1)] }
        || self[0].count <= place
    }
  }
}
