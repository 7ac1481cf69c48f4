/// A stored property of a value, as reflection finds it.
struct StoredProperty {
  /// The name of the storage: `email`; `_email` for a property wrapper; `$__lazy_storage_$_email` for a lazy property.
  private let label: String
  private let storage: Any

  /// The stored properties of a value, those of its superclasses first. Elements without a name are left out.
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

  /// The name that the program uses.
  var name: String {
    let lazyPrefix = "$__lazy_storage_$_"
    if label.hasPrefix(lazyPrefix) { return String(label.dropFirst(lazyPrefix.count)) }
    return wrapperName ?? label
  }

  /// The name of a property wrapper, or of a property that only looks like one.
  private var wrapperName: String? { label.hasPrefix("_") ? String(label.dropFirst()) : nil }

  /// The property's name among known ones. A lazy property has none: before its first use it has no value.
  func matchingName(among isKnown: (String) -> Bool) -> String? {
    if isKnown(label) { return label }
    return wrapperName.flatMap { isKnown($0) ? $0 : nil }
  }

  /// The property's value under one of its names.
  func value(as name: String) -> Any { name == label ? storage : Self.wrappedValue(storage) }

  /// The `wrappedValue` that a property wrapper stores; the storage itself for everything else.
  private static func wrappedValue(_ storage: Any) -> Any {
    guard let wrapped = all(of: storage).last(where: { $0.label == "wrappedValue" }) else { return storage }
    return wrappedValue(wrapped.storage)
  }
}

/// What a property says of an attribute or a relationship.
enum PropertyState {
  /// Nothing: the stored record keeps what it has.
  case missing
  /// The stored record is to have no value.
  case null
  /// The stored record is to have a value, which is no optional.
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

/// An optional of an optional, whose outer `nil` is a property that says nothing.
private protocol DoubleOptional {}

extension Optional: DoubleOptional where Wrapped: ExpressibleByNilLiteral {}
