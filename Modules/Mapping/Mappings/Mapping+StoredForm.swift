import CoherenceCore

extension Mapping {
  /// Returns a model in the form in which a fetch returns it after a save.
  ///
  /// A fetched model may differ from the saved one: stores round dates to the microsecond, properties without a field are not
  /// saved, and the type's own decoding may change values. The stored form equals the fetched model. The stored form of a
  /// stored form is the same, unless the type's decoding changes values.
  ///
  /// No store is read. The cost is that of decoding one model.
  ///
  /// - Throws: ``ErrorCode/modelDoesNotFit`` for a model with a value that a save would refuse, and for a model whose
  ///   decoding fails with the mapping's fields alone.
  public func storedForm(of model: Model) throws -> Model {
    var values: [AttributeValue] = []
    for (index, field) in fields.enumerated() {
      do {
        values.append(try field.attribute.type.checked(field.access.get(model)))
      } catch {
        throw saveError(of: index, error)
      }
    }
    return try values.withUnsafeMutableBufferPointer { values in
      guard let start = values.baseAddress else { return model }
      return try RowDecoding(self).model(of: start)
    }
  }

  // MARK: Errors

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
  /// The end of a sentence about the key that could not be decoded. The sentence has no values, because errors may be logged.
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
