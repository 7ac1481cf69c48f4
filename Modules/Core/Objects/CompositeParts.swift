/// The table of a composite's parts: a structure with a key for each part.
///
/// ```swift
/// extension Size {
///   struct Parts: CompositeParts {
///     static let table = Parts()
///     let width = PartKey<Double>("width")
///     let height = PartKey<Double?>("height")
///   }
/// }
/// ```
/// Typed expressions use key paths of the table, such as `$0.size.width`. The compiler refuses a part without a key in
/// the table.
public protocol CompositeParts: Sendable {
  /// The only value of the type.
  static var table: Self { get }
}

/// The table of a composite without keys, whose parts are found by their names.
public struct NoCompositeParts: CompositeParts {
  /// The only value of the type.
  public static let table = NoCompositeParts()
}

/// Names a part of a composite for typed expressions.
///
/// The type is the type of the part in ``CompositeValue/compositeParts``: a type of attributes, or another composite.
public struct PartKey<Value>: Sendable {
  /// The name of the part within its composite.
  public let name: String

  /// Makes a key.
  ///
  /// - Parameter name: The name of the part within its composite.
  public init(_ name: String) { self.name = name }
}
