/// The type of a store: a name, and a factory if the backend's module declares the type. Types with equal names are
/// equal.
///
/// ```swift
/// import CoherenceSQLite
/// StoreConfiguration(type: .sqlite)      // declared by the backend: nothing to register
/// StoreConfiguration(type: "SQLite")     // looked up in a registry
/// ```
public struct StoreType: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
  /// The name of the type, as in ``StoreMetadata/type``.
  public let name: String
  /// The factory of the type; `nil` to look the name up in a ``StoreRegistry``.
  public let factory: (any StoreFactory)?

  /// Makes a type from a name and, if the backend's module declares the type, its factory.
  public init(_ name: String, factory: (any StoreFactory)? = nil) {
    self.name = name
    self.factory = factory
  }
  /// Makes a type from a name, without a factory.
  public init(stringLiteral name: String) { self.init(name) }

  /// The name of the type.
  public var description: String { name }
  /// Compares the names.
  public static func == (left: StoreType, right: StoreType) -> Bool { left.name == right.name }
  /// Hashes the name.
  public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

/// Opens the stores of one type.
public protocol StoreFactory: Sendable {
  /// Whether a store of the type is in a file of its own. Otherwise `StoreEnvironment.url` is `nil` or the
  /// configuration's location.
  var usesFiles: Bool { get }

  /// Opens a store. Creates it at an empty location, and extends the schema of an existing store to the model (see
  /// ``StoreEnvironment/allowsMigration``).
  ///
  /// - Throws: ``ErrorCode/notADatabase``, ``ErrorCode/storeInaccessible``, ``ErrorCode/incompatibleModel`` and other
  ///   codes of a failed opening. A call that throws changes nothing.
  func open(_ environment: StoreEnvironment) throws -> any PersistentStore

  /// Reads the metadata of a store, whether or not the store is open. Returns `nil` at a location without a store.
  ///
  /// - Throws: ``ErrorCode/notADatabase`` or ``ErrorCode/storeCorrupt``.
  func metadata(_ environment: StoreEnvironment) throws -> StoreMetadata?

  /// Moves a store aside with its content, so that a new store can be created at its location.
  ///
  /// - Returns: A description of the new location, for the log.
  func setAside(_ environment: StoreEnvironment) throws -> String
}
