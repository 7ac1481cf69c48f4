public import Foundation
import Synchronization

/// Converts the values of transformable attributes to data and back.
///
/// ```swift
/// struct ColorTransformer: AttributeTransformer {
///   func data(from color: Color) throws -> Data { Data([color.red, color.green, color.blue]) }
///   func value(from data: Data) throws -> Color {
///     let bytes = Array(data)
///     guard bytes.count == 3 else { throw ColorError() }
///     return Color(red: bytes[0], green: bytes[1], blue: bytes[2])
///   }
/// }
/// ```
/// Used by contexts on any thread.
public protocol AttributeTransformer<Value>: Sendable {
  /// The type of the values.
  associatedtype Value
  /// Returns the stored form of a value.
  func data(from value: Value) throws -> Data
  /// Returns the value of a stored form. An older version of the program may have written the data.
  func value(from data: Data) throws -> Value
}

/// The transformers of transformable attributes, by the names that models give them.
///
/// A program registers its transformers before it uses the values:
///
/// ```swift
/// AttributeTransformers.register(ColorTransformer(), named: "color")
/// ```
/// May be used on any thread.
public enum AttributeTransformers {
  private static let transformers = Mutex<[String: any AttributeTransformer]>([:])

  /// Registers a transformer. A later transformer of the same name replaces an earlier one.
  public static func register(_ transformer: any AttributeTransformer, named name: String) {
    // Released after the lock: the `deinit` of the former transformer may use the transformers.
    let former = transformers.withLock { $0.updateValue(transformer, forKey: name) }
    withExtendedLifetime(former) {}
  }

  /// Returns the registered transformer with a name; `nil` for an unregistered name.
  public static func transformer(named name: String) -> (any AttributeTransformer)? {
    transformers.withLock { $0[name] }
  }

  /// Returns the registered transformer of an attribute's values.
  ///
  /// - Throws: ``ErrorCode/wrongType`` for an attribute of another kind, ``ErrorCode/unknownTransformer``.
  static func transformer(of attribute: AttributeDescription) throws(CoherenceError) -> any AttributeTransformer {
    let path = "'\(attribute.entity.name).\(attribute.name)'"
    guard case .transformable(let name) = attribute.type else {
      throw CoherenceError(
        .wrongType, "\(path) is not transformable; use an accessor for values of type \(attribute.type.canonicalName).")
    }
    if let transformer = transformer(named: name) { return transformer }
    throw CoherenceError(
      .unknownTransformer,
      "The transformer '\(name)' of \(path) is not registered; call `AttributeTransformers.register(_:named:)` first.")
  }
}

extension AttributeTransformer {
  /// The value of a stored form as a type; `nil` if the transformer's values are of another type.
  func value<Result>(from data: Data, as type: Result.Type) throws -> Result? { try value(from: data) as? Result }

  /// The stored form of a value; `nil` if the transformer's values are of another type.
  func data(fromAny value: Any) throws -> Data? { try (value as? Value).map(data(from:)) }
}
