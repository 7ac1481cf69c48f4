import CoherenceCore

/// Decodes the models of a fetch, one after the other, by the keys of their fields: the general way to make them.
final class RowDecoding<Model: Codable & SendableMetatype> {
  private let mapping: Mapping<Model>
  private let keys: CodingNode
  private let areJSON: [Bool]
  /// The values of the record that is being decoded, one for each field.
  private var values: UnsafeMutablePointer<AttributeValue>?

  init(_ mapping: Mapping<Model>) {
    self.mapping = mapping
    areJSON = mapping.fields.map(\.isJSON)
    keys = CodingNode(mapping.fields.enumerated().map { ($0.element.codingPath[...], $0.offset) })
  }

  /// - Parameter values: The record's, one for each field. They stay where they are.
  /// - Throws: ``ErrorCode/modelDoesNotFit``.
  func model(of values: UnsafeMutablePointer<AttributeValue>) throws -> Model {
    self.values = values
    defer { self.values = nil }
    do {
      return try Model(from: RowDecoder(row: self, node: keys, codingPath: []))
    } catch {
      throw mapping.misfit(error)
    }
  }
}

extension RowDecoding: DecodedRow {
  // A decoder that a model kept beyond its decoding finds nothing.
  func value(_ field: Int) -> AttributeValue { values?[field] ?? .null }

  func isJSON(_ field: Int) -> Bool { areJSON[field] }
}

/// The values of a record that is being decoded, whatever its model.
protocol DecodedRow: AnyObject {
  func value(_ field: Int) -> AttributeValue
  /// Whether the value of a field is JSON.
  func isJSON(_ field: Int) -> Bool
}
