/// The type of an attribute, as the model declares it.
public indirect enum AttributeType: Sendable, Hashable {
  /// Whole numbers of 16, 32 and 64 bits. Validation refuses a number out of the range.
  case int16, int32, int64
  /// Truth values.
  case bool
  /// Floating-point numbers of 32 and 64 bits. Validation refuses not-a-number, because stores cannot keep it.
  case float, double
  /// Exact decimal numbers, up to 38 significant digits.
  case decimal
  /// Texts of any length, without U+0000.
  case string
  /// Bytes of any number.
  case data
  /// A point in time, stored to the microsecond. An object rounds a date when it is assigned; a predicate rounds its
  /// dates likewise. See `Date.roundedToMicroseconds()`.
  case date
  /// UUIDs.
  case uuid
  /// A URL, stored as text.
  case url
  /// A raw-representable type, stored as its raw value. With `cases`, validation refuses other values.
  case enumeration(raw: AttributeType, cases: Set<AttributeValue>?)
  /// A `Codable` type, stored as JSON text with sorted keys.
  case codable
  /// Any type that the named transformer converts to data and back; see ``AttributeTransformers``.
  case transformable(String)
  /// A reference to a record of any store, stored as the text of its ``StoredObjectID``; see ``WeakReference``. With
  /// the name of an entity, the reference leads only to records of the entity.
  case weakReference(to: String?)

  /// Whether the type is ``weakReference(to:)``, with or without an entity.
  var isWeakReference: Bool { if case .weakReference = self { true } else { false } }

  /// The representation of the type's values in rows and stores.
  public var storage: StorageType {
    switch self {
    case .int16: .int16
    case .int32: .int32
    case .int64: .int64
    case .bool: .bool
    case .float: .float
    case .double: .double
    case .decimal: .decimal
    case .string, .url, .codable, .weakReference: .string
    case .data, .transformable: .data
    case .date: .date
    case .uuid: .uuid
    case .enumeration(let raw, _): raw.storage
    }
  }

  /// An enumeration with all cases known to the model. Validation refuses any other raw value with
  /// ``ErrorCode/invalidValue``. A new case leaves the version hash of the entity unchanged.
  public static func enumeration<E: RawRepresentable & CaseIterable>(_ type: E.Type) -> AttributeType
  where E.RawValue: AttributeConvertible {
    .enumeration(raw: E.RawValue.attributeType, cases: Set(E.allCases.map { $0.rawValue.attributeValue }))
  }

  /// An enumeration by raw value, with cases unknown to the model. Validation accepts every raw value of the type.
  public static func enumeration<E: RawRepresentable>(raw type: E.Type) -> AttributeType
  where E.RawValue: AttributeConvertible {
    .enumeration(raw: E.RawValue.attributeType, cases: nil)
  }
}

/// The representation of a slot's values in rows and stores.
public enum StorageType: String, Sendable, Hashable, CaseIterable {
  case int16, int32, int64, bool, float, double, decimal, string, data, date, uuid
  /// The key of another record.
  case reference
}
