import Synchronization

extension DeclaredEntity {
  /// The name of the property for a key path of the class, for a read or a write of the property's value.
  ///
  /// - Throws: ``ErrorCode/unknownProperty`` for a key path without a name.
  static func storedName(of keyPath: AnyKeyPath) throws(CoherenceError) -> String {
    if let name = KeyPathNames.of(self)[keyPath] { return name }
    throw CoherenceError(.unknownProperty, nameless)
  }

  /// The sentence of the error for a key path without a name.
  private static var nameless: String {
    "A key path of '\(self)' is not a stored property with a name; use a stored property, or add the key path to "
      + "'\(self).propertyNames'."
  }

  /// The name of the property for a key path of the class, for a path in an expression.
  ///
  /// Expressions are made without `throws`. For a key path without a name, the result is a placeholder that is no
  /// property's name. The check of the expression for an entity then reports the key path.
  package static func propertyName(of keyPath: AnyKeyPath) -> String {
    KeyPathNames.of(self)[keyPath] ?? PropertyPath.nameless(nameless)
  }
}

/// The names of a class's key paths, cached.
private struct KeyPathNames: @unchecked Sendable {
  // Sendable: the dictionary never changes; its key paths are literals, whose components are constants.
  private let names: [AnyKeyPath: String]

  subscript(keyPath: AnyKeyPath) -> String? { names[keyPath] }

  /// The names by class, entered at the first look-up of a class.
  private static let cache = Mutex<[ObjectIdentifier: KeyPathNames]>([:])

  /// The names of the key paths of a class.
  static func of(_ type: any DeclaredEntity.Type) -> KeyPathNames {
    let key = ObjectIdentifier(type)
    if let names = cache.withLock({ $0[key] }) { return names }
    let names = KeyPathNames(names: type.propertyNames)
    cache.withLock { $0[key] = names }
    return names
  }
}
