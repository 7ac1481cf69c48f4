/// An option of ``Attribute(_:formerNames:converting:userInfo:)``.
///
/// The options exist for the compiler's check of the source; the macro reads their text.
public struct AttributeOption: Sendable {
  private init() {}

  // MARK: Constraints

  /// The values are unique in a store. Records without a value are not compared.
  public static var unique: AttributeOption { AttributeOption() }
  /// Stores keep an index for the values.
  public static var indexed: AttributeOption { AttributeOption() }

  // MARK: Storage

  /// The value is `Codable`, stored as JSON text. A type other than an optional or a collection needs a default.
  public static var codable: AttributeOption { AttributeOption() }
  /// The value is a `CompositeValue`, each part stored as an attribute of its own.
  public static var composite: AttributeOption { AttributeOption() }
  /// The value is stored as data, and the entity names the transformer of the data. The variable is `Data`, or has a
  /// type convertible to data; a `TransformableKey` gives a computed property the transformer's values.
  public static func transformable(_ name: String) -> AttributeOption { AttributeOption() }

  /// A save computes the value by the rule. The accessor has no setter.
  public static func derived(_ rule: Derivation) -> AttributeOption { AttributeOption() }

  // MARK: Validation

  /// The smallest valid number or date.
  public static func minimum<Value: AttributeConvertible>(_ value: Value) -> AttributeOption { AttributeOption() }
  /// The largest valid number or date.
  public static func maximum<Value: AttributeConvertible>(_ value: Value) -> AttributeOption { AttributeOption() }
  /// The least number of characters of a text, or of bytes of data.
  public static func minimumLength(_ count: Int) -> AttributeOption { AttributeOption() }
  /// The greatest number of characters of a text, or of bytes of data.
  public static func maximumLength(_ count: Int) -> AttributeOption { AttributeOption() }
  /// The range of valid numbers of characters of a text, or of bytes of data.
  public static func length(_ counts: ClosedRange<Int>) -> AttributeOption { AttributeOption() }
  /// A regular expression that the whole text matches.
  public static func pattern(_ expression: String) -> AttributeOption { AttributeOption() }
}
