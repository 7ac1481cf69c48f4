import Synchronization

/// The classes of managed objects that model files refer to by name.
///
/// A model file names the class of each entity. Swift runs no code of a class before the program uses the class, so that
/// a class cannot register itself. A program registers its classes before it reads the file:
///
/// ```swift
/// ManagedObjectClasses.register(Track.self, Album.self)
/// ```
/// May be used on any thread.
public enum ManagedObjectClasses {
  private static let classesByName = Mutex<[String: [ManagedObject.Type]]>([:])

  /// Registers classes under their names, with and without the names of their modules. A repeated registration has no
  /// effect.
  public static func register(_ classes: ManagedObject.Type...) { register(classes) }

  /// Registers the classes of an array; see the function for single classes.
  public static func register(_ classes: [ManagedObject.Type]) {
    classesByName.withLock { registered in
      for objectClass in classes {
        for name in names(of: objectClass) where registered[name]?.contains(where: { $0 == objectClass }) != true {
          registered[name, default: []].append(objectClass)
        }
      }
    }
  }

  /// Returns the registered classes with a name: `Track` or `Music.Track`. Classes of several modules may share the
  /// short name.
  public static func classes(named name: String) -> [ManagedObject.Type] {
    classesByName.withLock { $0[name] ?? [] }
  }

  /// The names under which a class is found: its own name, its full name with the module, and the full name without the
  /// module, which includes the enclosing types of a nested class.
  package static func names(of objectClass: ManagedObject.Type) -> Set<String> {
    let full = String(reflecting: objectClass)
    let nested = full.split(separator: ".", maxSplits: 1).dropFirst().joined()
    return Set([String(describing: objectClass), full, nested].filter { !$0.isEmpty })
  }
}
