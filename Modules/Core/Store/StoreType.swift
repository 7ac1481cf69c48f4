/// The kind of a store: a name and, when the backend's module declares it, the way to open one.
///
/// ```swift
/// import CoherenceSQLite
/// StoreConfiguration(type: .sqlite)      // declared by the backend: nothing to register
/// StoreConfiguration(type: "SQLite")     // looked up in a registry
/// ```
public struct StoreType: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
  public let name: String
  /// Opens stores of the type, when the value brings it along.
  public let factory: (any StoreFactory)?

  public init(_ name: String, factory: (any StoreFactory)? = nil) {
    self.name = name
    self.factory = factory
  }
  public init(stringLiteral name: String) { self.init(name) }

  public var description: String { name }
  public static func == (left: StoreType, right: StoreType) -> Bool { left.name == right.name }
  public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

/// Opens the stores of one type.
public protocol StoreFactory: Sendable {
  /// Whether a store of the type lives in a file of its own. Without, `StoreEnvironment.url` is `nil` or the location
  /// that the configuration gave.
  var usesFiles: Bool { get }

  /// Opens a store, creating it with the environment's schema at an empty place, and adding to its schema what the
  /// model adds (see ``StoreEnvironment/allowsMigration``).
  ///
  /// - Throws: ``ErrorCode/notADatabase``, ``ErrorCode/storeInaccessible``, ``ErrorCode/incompatibleModel`` and the
  ///   like; nothing is changed then.
  func open(_ environment: StoreEnvironment) throws -> any PersistentStore

  /// The metadata of a store that need not be open; `nil` at a place without a store.
  ///
  /// - Throws: ``ErrorCode/notADatabase`` or ``ErrorCode/storeCorrupt``.
  func metadata(_ environment: StoreEnvironment) throws -> StoreMetadata?

  /// Moves a store out of the way, keeping its content, so that a fresh store can take its place.
  ///
  /// - Returns: A description of where it is now, for the log.
  func setAside(_ environment: StoreEnvironment) throws -> String
}
