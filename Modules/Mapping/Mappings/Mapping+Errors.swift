import CoherenceCore

extension Mapping {
  /// The error of a model whose value for a field cannot be saved.
  func saveError(of field: Int, _ error: any Error) -> CoherenceError {
    let reason = (error as? CoherenceError)?.message ?? "It cannot be encoded as JSON, where numbers are finite."
    return CoherenceError(
      .modelDoesNotFit, "A '\(Model.self)' cannot be saved for its '\(fields[field].attribute.name)': \(reason)",
      underlying: error)
  }

  /// The error of a record after a failed decoding of its model.
  func decodingError(_ error: any Error) -> CoherenceError {
    CoherenceError(
      .modelDoesNotFit,
      "A record of '\(entityName)' does not fit '\(Model.self)'\((error as? DecodingError)?.advice ?? ".")",
      underlying: error)
  }
}

extension DecodingError {
  /// The end of a sentence about the key that could not be decoded. The sentence has no values, because errors may be
  /// logged.
  fileprivate var advice: String? {
    switch self {
    case .keyNotFound(let key, let context):
      let name = Self.name(context.codingPath + [key])
      return ", which decodes '\(name)'; give a field that coding key, as `codingKey`."
    case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
      guard !context.codingPath.isEmpty else { return nil }
      return ": the value of '\(Self.name(context.codingPath))' is missing, or has another type."
    @unknown default: return nil
    }
  }

  private static func name(_ path: [any CodingKey]) -> String { path.map(\.stringValue).joined(separator: ".") }
}
