import CoherenceCore

/// Decodes the models of a fetch by the coding keys of their fields. Every `Codable` type can be decoded this way.
final class RowDecoding<Model: Codable & SendableMetatype> {
  private let mapping: Mapping<Model>
  private let keys: CodingNode
  private let areJSON: [Bool]
  /// The values of the current record, one for each field.
  private var values: UnsafeMutablePointer<AttributeValue>?

  init(_ mapping: Mapping<Model>) {
    self.mapping = mapping
    areJSON = mapping.fields.map(\.isJSON)
    keys = CodingNode(mapping.fields.enumerated().map { ($0.element.codingPath[...], $0.offset) })
  }

  /// Decodes a model.
  ///
  /// - Parameter values: The values of a record, one for each field. They stay in their memory.
  /// - Throws: ``ErrorCode/modelDoesNotFit``.
  func model(of values: UnsafeMutablePointer<AttributeValue>) throws -> Model {
    self.values = values
    defer { self.values = nil }
    do {
      return try Model(from: RowDecoder(row: self, node: keys, codingPath: []))
    } catch {
      throw mapping.decodingError(error)
    }
  }
}

extension RowDecoding: DecodedRow {
  // A model may keep its decoder. After the decoding the decoder has no values.
  func value(_ field: Int) -> AttributeValue { values?[field] ?? .null }

  func isJSON(_ field: Int) -> Bool { areJSON[field] }
}
