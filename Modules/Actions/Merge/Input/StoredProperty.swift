import CoherenceCore

/// A stored property of a value, found by reflection, or an entry of a dictionary.
struct StoredProperty {
  /// The name of the storage: `email`; `_email` for a property wrapper; `$__lazy_storage_$_email` for a lazy property.
  private let label: String
  private let storage: Any
  /// Whether the property is an entry of a dictionary, whose key is its only name.
  private var isEntry = false

  /// Returns the parts by which a composite or a key is read: the stored properties of a value, or the entries of a
  /// dictionary with string keys.
  ///
  /// - Returns: `nil` for a value without named parts, for example a number, a list, or a dictionary with other keys.
  static func parts(of value: Any) -> [StoredProperty]? {
    let mirror = Mirror(reflecting: value)
    if mirror.displayStyle == .dictionary { return entries(mirror) }
    let properties = all(of: value)
    if !properties.isEmpty { return properties }
    let isComposed = mirror.displayStyle == .struct || mirror.displayStyle == .class
    return isComposed && !(value is any AttributeConvertible) ? [] : nil
  }

  /// Returns the entries of a dictionary; `nil` if a key is no string.
  private static func entries(_ dictionary: Mirror) -> [StoredProperty]? {
    var entries: [StoredProperty] = []
    for child in dictionary.children {
      let pair = Mirror(reflecting: child.value).children.map(\.value)
      guard pair.count == 2, let key = pair[0] as? String else { return nil }
      entries.append(StoredProperty(label: key, storage: pair[1], isEntry: true))
    }
    return entries
  }

  /// Returns the stored properties of a value, inherited ones first. Elements without a name are skipped.
  static func all(of value: Any) -> [StoredProperty] {
    var levels: [Mirror] = []
    var level: Mirror? = Mirror(reflecting: value)
    while let mirror = level {
      levels.append(mirror)
      level = mirror.superclassMirror
    }
    return levels.reversed().flatMap { mirror in
      mirror.children.compactMap { child in child.label.map { StoredProperty(label: $0, storage: child.value) } }
    }
  }

  /// The name of the property in source code.
  var name: String {
    if isEntry { return label }
    let lazyPrefix = "$__lazy_storage_$_"
    if label.hasPrefix(lazyPrefix) { return String(label.dropFirst(lazyPrefix.count)) }
    return wrapperName ?? label
  }

  /// The name of the wrapped property; also set for a plain property whose name begins with an underscore.
  private var wrapperName: String? { !isEntry && label.hasPrefix("_") ? String(label.dropFirst()) : nil }

  /// Returns the name under which the property is known. A lazy property has none, because it may have no value yet.
  func matchingName(among isKnown: (String) -> Bool) -> String? {
    if isKnown(label) { return label }
    return wrapperName.flatMap { isKnown($0) ? $0 : nil }
  }

  /// Returns the value of the property under one of its names.
  func value(as name: String) -> Any { name == label ? storage : Self.wrappedValue(storage) }

  /// Returns the `wrappedValue` that a property wrapper stores, or the storage of a plain property.
  private static func wrappedValue(_ storage: Any) -> Any {
    guard let wrapped = all(of: storage).last(where: { $0.label == "wrappedValue" }) else { return storage }
    return wrappedValue(wrapped.storage)
  }
}

/// The state of a property in a record to merge.
enum PropertyState {
  /// The stored record keeps its value.
  case missing
  /// The stored record loses its value.
  case null
  /// The stored record gets the value, which is not an optional.
  case value(Any)

  init(_ value: Any) {
    let mirror = Mirror(reflecting: value)
    if mirror.displayStyle != .optional {
      self = .value(value)
    } else if let wrapped = mirror.children.first {
      self = PropertyState(wrapped.value)
    } else {
      self = mirror.subjectType is any DoubleOptional.Type ? .missing : .null
    }
  }
}

/// A double optional, whose outer `nil` keeps the stored value.
private protocol DoubleOptional {}

extension Optional: DoubleOptional where Wrapped: ExpressibleByNilLiteral {}
