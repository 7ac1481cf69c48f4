/// Why a case failed.
public struct ConformanceFailure: Error, CustomStringConvertible {
  public let message: String
  /// The file of the failed expectation.
  public let file: String
  public let line: UInt

  public init(_ message: String, file: StaticString = #fileID, line: UInt = #line) {
    self.message = message
    self.file = "\(file)"
    self.line = line
  }

  /// The failure of a case, for any thrown error.
  init(of conformanceCase: ConformanceCase, on store: String, _ error: any Error) {
    let failure = error as? ConformanceFailure
    message = "\(conformanceCase), on \(store): \(failure?.message ?? "threw \(error)")"
    file = failure?.file ?? ""
    line = failure?.line ?? 0
  }

  public var description: String { file.isEmpty ? message : "\(message) (\(file):\(line))" }
}
