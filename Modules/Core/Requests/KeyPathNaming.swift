import Synchronization

/// A class whose key paths have property names, for use in typed expressions.
///
/// ```swift
/// extension Album: KeyPathNaming {
///   static var propertyNames: [AnyKeyPath: String] {
///     [\Album.title: "title", \Album.artist: "artist", \Album.tracks: "tracks"]
///   }
/// }
/// ```
/// A key path includes the class that it begins at: a subclass lists inherited properties with key paths of its own.
public protocol KeyPathNaming: ManagedObject {
  /// The name of each property that expressions may use. Read once for each class and then cached, so it must not
  /// change.
  static var propertyNames: [AnyKeyPath: String] { get }
}

extension KeyPathNaming {
  /// The name of the property that a key path stands for.
  ///
  /// A key path without a name fails when the expression is checked for an entity, not here: the result is then a
  /// placeholder that no property has as its name.
  static func propertyName(of keyPath: AnyKeyPath) -> String {
    KeyPathNames.of(self)[keyPath]
      ?? PropertyPath.nameless("A key path of '\(self)' has no property name; add it to '\(self).propertyNames'.")
  }
}

/// The names of a class's key paths, cached.
private struct KeyPathNames: @unchecked Sendable {
  // Sendable: a dictionary never changed; its key paths are literals, whose components are constants.
  private let names: [AnyKeyPath: String]

  subscript(keyPath: AnyKeyPath) -> String? { names[keyPath] }

  private static let known = Mutex<[ObjectIdentifier: KeyPathNames]>([:])

  static func of(_ type: any KeyPathNaming.Type) -> KeyPathNames {
    let key = ObjectIdentifier(type)
    if let names = known.withLock({ $0[key] }) { return names }
    let names = KeyPathNames(names: type.propertyNames)
    known.withLock { $0[key] = names }
    return names
  }
}
