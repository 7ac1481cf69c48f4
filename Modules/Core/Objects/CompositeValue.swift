/// A structure stored as a composite: each of its properties has a slot and a column.
///
/// ```swift
/// struct Size: CompositeValue {
///   var width: Double
///   var height: Double?
///
///   static var compositeParts: [Attribute] {
///     Attribute.parts("width", Double.self) + Attribute.parts("height", Double?.self)
///   }
///   init(reading parts: inout CompositeReader) {
///     width = parts.read()
///     height = parts.read()
///   }
///   func write(to parts: inout CompositeWriter) {
///     parts.write(width)
///     parts.write(height)
///   }
/// }
/// ```
/// All three members must use the same order of parts. A part may be a composite itself: its own parts follow in its
/// place, with names such as `origin.x`. An optional composite is missing if all its parts are missing.
///
/// With a nested table ``Parts``, typed expressions use the parts as key paths: `$0.size.width`. Without the table,
/// expressions name the parts by texts.
public protocol CompositeValue {
  /// The table of the parts.
  associatedtype Parts: CompositeParts = NoCompositeParts
  /// The declarations of the parts, with names relative to the composite.
  static var compositeParts: [Attribute] { get }
  /// Makes the value from the stored parts. Missing parts read as defaults.
  init(reading parts: inout CompositeReader)
  /// Writes all parts, in order.
  func write(to parts: inout CompositeWriter)
}

extension Optional: CompositeValue where Wrapped: CompositeValue {
  /// The table of the parts of the wrapped type.
  public typealias Parts = Wrapped.Parts

  /// The parts of the composite, all of them optional and without defaults: a new object has no composite.
  public static var compositeParts: [Attribute] {
    Wrapped.compositeParts.map { part in
      var part = part
      part.isOptional = true
      part.defaultValue = .null
      return part
    }
  }

  /// Makes `nil` when all parts are missing.
  public init(reading parts: inout CompositeReader) { self = parts.readIfPresent(Wrapped.self) }

  /// Writes all parts; `nil` writes missing parts.
  public func write(to parts: inout CompositeWriter) {
    guard let self else { return parts.writeMissing(Wrapped.compositeParts.count) }
    self.write(to: &parts)
  }
}

extension Attribute {
  /// Declares a part of a composite. A part of an optional type is optional.
  ///
  /// - Parameters:
  ///   - name: The name of the property.
  ///   - defaultValue: The value of the part in a new object.
  public static func parts<Value: AttributeConvertible>(
    _ name: String, _ type: Value.Type, default defaultValue: Value? = nil
  ) -> [Attribute] {
    // Only an optional type has a value for null.
    [Attribute(name, Value.attributeType, optional: Value(attributeValue: .null) != nil, default: defaultValue)]
  }

  /// Declares the parts of a composite within a composite.
  public static func parts<Value: CompositeValue>(
    _ name: String, _ type: Value.Type, default defaultValue: Value? = nil
  ) -> [Attribute] {
    Attribute.parts(of: Value.self, defaultValue).map { part in
      var part = part
      part.name = "\(name).\(part.name)"
      return part
    }
  }

  /// The parts of a type, with the parts of a value as their defaults.
  fileprivate static func parts<Value: CompositeValue>(of type: Value.Type, _ defaultValue: Value?) -> [Attribute] {
    var parts = Value.compositeParts
    guard let defaultValue else { return parts }
    var writer = CompositeWriter()
    defaultValue.write(to: &writer)
    for (index, value) in zip(parts.indices, writer.values) { parts[index].defaultValue = value }
    return parts
  }
}

extension CompositeAttribute {
  /// Declares a composite by its Swift type. The parts of an optional type are optional.
  ///
  /// - Parameters:
  ///   - defaultValue: The value in a new object, and in existing records when the composite is added to a store; `nil`
  ///     for the defaults of the parts.
  ///   - formerNames: The names that the composite had in earlier models, the latest first.
  public init<Value: CompositeValue>(
    _ name: String, of type: Value.Type, default defaultValue: Value? = nil, formerNames: [String] = []
  ) {
    let parts = Attribute.parts(of: Value.self, defaultValue).map { part in
      var part = part
      part.formerNames = formerNames.map { "\($0).\(part.name)" } + part.formerNames
      return part
    }
    self.init(name, parts: parts)
  }
}
