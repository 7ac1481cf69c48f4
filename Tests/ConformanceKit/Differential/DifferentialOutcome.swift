import CoherenceCore

/// The outcome of a step, in terms independent of the store.
struct DifferentialOutcome: Sendable, Equatable {
  var text: String
  /// The codes of the step's errors.
  var codes: [ErrorCode] = []

  init(_ text: String) { self.text = text }

  init(_ names: [String]) { text = "[" + names.joined(separator: ", ") + "]" }

  /// The outcome of a failed step.
  ///
  /// - Parameter name: Returns the name of an identifier.
  init(_ error: any Error, name: (ManagedObjectID) -> String) {
    guard let error = error as? CoherenceError else {
      text = "\(error)"
      codes = [ErrorCode("foreign")]
      return
    }
    text = error.code.rawValue
    codes = [error.code] + Set(error.failures.map(\.code)).sorted { $0.rawValue < $1.rawValue }
    let failures = error.failures.map { "\(name($0.objectID)).\($0.propertyName): \($0.code)" }
    // Failures are ordered by identifiers, and the order of temporary identifiers varies.
    if !failures.isEmpty { text += " {\(failures.sorted().joined(separator: ", "))}" }
    let conflicts = error.conflicts.map { conflict in
      "\(name(conflict.objectID)) \(Self.version(conflict.ancestor)) "
        + "\(Self.version(conflict.mine)) \(Self.version(conflict.store))"
    }
    if !conflicts.isEmpty { text += " {\(conflicts.sorted().joined(separator: ", "))}" }
    if error.outcome != .notApplied { text += " outcome \(error.outcome)" }
  }

  private static func version(_ row: Row?) -> String { row.map { version($0.version) } ?? "-" }

  /// The text of a version. A restored record continues far above the versions of the deleted record, by a number that
  /// depends on the rows that happen to be in memory.
  static func version(_ version: Int64) -> String { version > 1 << 16 ? "of a restored record" : "\(version)" }

  /// Whether a store may have this outcome if the reference store has another outcome.
  ///
  /// A step may violate two constraints. A database may check references before uniqueness, but the reference store
  /// checks uniqueness first. The opposite difference is therefore not admissible.
  func isAdmissible(besides model: DifferentialOutcome) -> Bool { self == model || isExcused(besides: model) }

  func isExcused(besides model: DifferentialOutcome) -> Bool {
    codes == [.danglingReference] && model.codes == [.uniquenessViolated]
  }

  mutating func append(_ other: DifferentialOutcome) {
    text += "; " + other.text
    codes += other.codes
  }
}
