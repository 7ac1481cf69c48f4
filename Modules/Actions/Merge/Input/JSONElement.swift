import Foundation

/// Any JSON value, for attributes that take arbitrary JSON.
indirect enum JSONElement: Codable {
  case null
  case bool(Bool)
  case integer(Int64)
  case number(Double)
  /// A number with more digits than a double keeps, such as a large unsigned integer.
  case decimal(Decimal)
  case string(String)
  case list([JSONElement])
  case object([String: JSONElement])

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Int64.self) {
      self = .integer(value)
    } else if let value = try? container.decode(Double.self) {
      self = Self.element(nearest: value, in: container)
    } else if let value = try? container.decode(String.self) {
      self = .string(value)
    } else if let values = try? decoder.unkeyedContainer() {
      self = .list(try Self.elements(of: values))
    } else {
      self = .object(try container.decode([String: JSONElement].self))
    }
  }

  /// The elements of a list. The error of an element names the element, not the list.
  private static func elements(of container: any UnkeyedDecodingContainer) throws -> [JSONElement] {
    var container = container
    var elements: [JSONElement] = []
    while !container.isAtEnd { elements.append(try container.decode(JSONElement.self)) }
    return elements
  }

  /// The number of a container, with all of its digits where a decimal keeps them.
  ///
  /// A number without further digits stays a double: its text is then that of an encoded double.
  private static func element(
    nearest: Double, in container: any SingleValueDecodingContainer
  ) -> JSONElement {
    guard let exact = try? container.decode(Decimal.self), let shortest = Decimal(string: nearest.description),
      exact != shortest
    else { return .number(nearest) }
    return .decimal(exact)
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .integer(let value): try container.encode(value)
    case .number(let value): try container.encode(value)
    case .decimal(let value): try container.encode(value)
    case .string(let value): try container.encode(value)
    case .list(let value): try container.encode(value)
    case .object(let value): try container.encode(value)
    }
  }
}
