import CoherenceCore

/// Makes the models of a fetch.
///
/// The first one is decoded. When it shows that decoding does nothing but put the fields in their places, the others are
/// put together in memory.
struct ModelMaker<Model: Codable & SendableMetatype> {
  private enum Way {
    case unknown, decoded
    case assembled(ModelAssembly<Model>)
  }
  private let binding: BoundMapping<Model>
  private let keys: CodingNode
  private var way = Way.unknown

  init(_ binding: BoundMapping<Model>) {
    self.binding = binding
    keys = CodingNode(binding.mapping.fields.enumerated().map { ($0.element.codingPath[...], $0.offset) })
  }

  /// Appends the models of rows.
  ///
  /// - Throws: ``ErrorCode/modelDoesNotFit``.
  mutating func make(_ rows: [Row], into models: inout [Model]) throws {
    for row in rows {
      switch way {
      case .assembled(let assembly):
        models.append(try assembly.model(of: row))
      case .decoded:
        models.append(try decoded(row))
      case .unknown:
        let model = try decoded(row)
        way = ModelAssembly(binding, like: model, of: row).map(Way.assembled) ?? .decoded
        models.append(model)
      }
    }
  }

  private func decoded(_ row: Row) throws -> Model {
    do {
      return try Model(from: RowDecoder(row: row, binding: binding, node: keys))
    } catch {
      throw binding.misfit((error as? DecodingError)?.place, error)
    }
  }
}

extension DecodingError {
  /// The key that could not be decoded.
  fileprivate var place: String? {
    let path: [any CodingKey] =
      switch self {
      case .keyNotFound(let key, let context): context.codingPath + [key]
      case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
        context.codingPath
      @unknown default: []
      }
    return path.isEmpty ? nil : path.map(\.stringValue).joined(separator: ".")
  }
}
