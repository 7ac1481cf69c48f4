import CoherenceCore

extension Mapping {
  /// Returns a model in the form in which a fetch returns it after a save.
  ///
  /// A fetched model may differ from the saved one: stores round dates to the microsecond, properties without a field
  /// are not saved, and the type's own decoding may change values. The stored form equals the fetched model. The stored
  /// form of a stored form is the same, unless the type's decoding changes values.
  ///
  /// A property of a derived attribute keeps the model's value, although a save leaves the value out, because the
  /// mapping alone does not know the derivation.
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
}
