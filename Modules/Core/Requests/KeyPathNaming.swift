import Synchronization

/// A class that names the property of each of its key paths, so that typed expressions can be written on it.
///
/// ```swift
/// extension Album: KeyPathNaming {
///   static var propertyNames: [AnyKeyPath: String] {
///     [\Album.title: "title", \Album.artist: "artist", \Album.tracks: "tracks"]
///   }
/// }
/// ```
/// A key path knows the class that it begins at: a subclass lists inherited properties with its own name.
public protocol KeyPathNaming: ManagedObject {
  /// The name of each property that expressions may use. Asked once.
  static var propertyNames: [AnyKeyPath: String] { get }
}

extension KeyPathNaming {
  /// The name of the property that a key path stands for.
  ///
  /// A key path without a name does not fail here, where an expression is built, but where it is put to an entity: the
  /// name that it gets is one that no property has.
  static func propertyName(of keyPath: AnyKeyPath) -> String {
    KeyPathNames.of(self)[keyPath]
      ?? PropertyPath.nameless("A key path of '\(self)' has no property name; add it to '\(self).propertyNames'.")
  }
}

/// The names of a class's key paths, asked for once.
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
