/// The results of all cases of the suite on one store.
public struct ConformanceReport: Sendable, CustomStringConvertible {
  public enum Result: Sendable, Hashable {
    case passed
    /// Failed, as the harness declared, for the reason given.
    case skipped(String)
    /// The case has failed; has its message.
    case failed(String)
  }

  public let storeName: String
  /// The errors in the harness: see ``ConformanceSuite/faults(of:)``.
  public let faults: [String]
  /// By the name of the case.
  public internal(set) var results: [String: Result] = [:]

  /// Whether every case of the suite passed, or was skipped for a declared reason.
  public var isConforming: Bool {
    faults.isEmpty && failures.isEmpty && ConformanceSuite.cases.allSatisfy { results[$0.name] != nil }
  }

  /// The messages of the cases that failed, in the order of the suite.
  public var failures: [String] {
    ConformanceSuite.cases.compactMap { conformanceCase in
      guard case .failed(let message) = results[conformanceCase.name] else { return nil }
      return message
    }
  }

  /// - Throws: ``ConformanceFailure`` with every fault and failure, unless the store conforms.
  public func check() throws {
    guard isConforming else { throw ConformanceFailure(description) }
  }

  public var description: String {
    let passed = results.values.filter { $0 == .passed }.count
    let skipped = results.count - passed - failures.count
    let summary = "\(storeName): \(passed) passed, \(skipped) skipped, \(failures.count) failed."
    return ([summary] + faults + failures).joined(separator: "\n")
  }
}
