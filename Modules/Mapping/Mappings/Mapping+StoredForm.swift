import CoherenceCore

extension Mapping {
  /// Returns a model as a fetch returns it after a save.
  ///
  /// Saving a model and fetching it need not give an equal one: stores keep dates to the microsecond, properties that are no
  /// fields are not kept, and the type's own decoding may change values. The stored form is made of the values that the
  /// mapping's entity keeps: it equals the model that a fetch returns once the model is saved. A stored form is its own
  /// stored form, unless the type's decoding changes values.
  ///
  /// No store is asked. The cost is that of decoding one model.
  ///
  /// - Throws: ``ErrorCode/modelDoesNotFit`` for a model that a save would refuse for a value, or that cannot be decoded from
  ///   the mapping's fields.
  public func storedForm(of model: Model) throws -> Model {
    var values: [AttributeValue] = []
    for (index, field) in fields.enumerated() {
      do {
        values.append(try field.attribute.type.checked(field.access.get(model)))
      } catch {
        throw refusal(of: index, error)
      }
    }
    return try values.withUnsafeMutableBufferPointer { values in
      guard let start = values.baseAddress else { return model }
      return try RowDecoding(self).model(of: start)
    }
  }

  // MARK: Errors

  /// The error of a model whose value for a field cannot be kept.
  func refusal(of field: Int, _ error: any Error) -> CoherenceError {
    let reason = (error as? CoherenceError)?.message ?? "It cannot be encoded as JSON, where numbers are finite."
    return CoherenceError(
      .modelDoesNotFit, "A '\(Model.self)' cannot be saved for its '\(fields[field].attribute.name)': \(reason)",
      underlying: error)
  }

  /// The error of a record that no model can be made of.
  func misfit(_ error: any Error) -> CoherenceError {
    CoherenceError(
      .modelDoesNotFit,
      "A record of '\(entityName)' does not fit '\(Model.self)'\((error as? DecodingError)?.advice ?? ".")",
      underlying: error)
  }
}

extension DecodingError {
  /// The end of a sentence that says what could not be decoded. Without values: those of others may be in descriptions.
  fileprivate var advice: String? {
    switch self {
    case .keyNotFound(let key, let context):
      let name = Self.name(context.codingPath + [key])
      return ", which decodes '\(name)'; give a field that coding key, as `codingKey`."
    case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
      guard !context.codingPath.isEmpty else { return nil }
      return " for its '\(Self.name(context.codingPath))', whose value is missing, or none that it takes."
    @unknown default: return nil
    }
  }

  private static func name(_ path: [any CodingKey]) -> String { path.map(\.stringValue).joined(separator: ".") }
}
