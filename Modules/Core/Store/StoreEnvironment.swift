public import Foundation
public import Logging

/// What a store is opened with.
public struct StoreEnvironment: Sendable {
  /// The type as the configuration gave it.
  public var type: StoreType
  /// Where the store is; `nil` for a store that has no place.
  public var url: URL?
  /// The name of the model configuration, `nil` for all entities.
  public var configurationName: String?
  public var model: ManagedObjectModel
  /// The entities that the store holds, ancestors before descendants. Every hierarchy is whole.
  public var entities: [EntityDescription]
  public var options: [String: OptionValue]
  public var logger: Logger

  public init(
    type: StoreType, url: URL?, configurationName: String? = nil, model: ManagedObjectModel,
    options: [String: OptionValue] = [:], logger: Logger = Logger(label: "coherence.store")
  ) {
    self.type = type
    self.url = url
    self.configurationName = configurationName
    self.model = model
    self.entities = Self.wholeHierarchies(model.entities(forConfigurationName: configurationName) ?? [])
    self.options = options
    self.logger = logger
  }

  /// The chosen entities with their ancestors, which share their rows.
  private static func wholeHierarchies(_ chosen: [EntityDescription]) -> [EntityDescription] {
    var roots: [EntityDescription] = []
    for entity in chosen where !roots.contains(where: { $0 === entity.root }) { roots.append(entity.root) }
    return roots.flatMap(\.hierarchy)
  }

  /// The roots of the hierarchies that the store holds.
  public var roots: [EntityDescription] { entities.filter { $0.superentity == nil } }

  /// The link tables whose sources and targets the store holds, sorted by name.
  public var linkTables: [LinkTable] {
    var tables: Set<LinkTable> = []
    for relationship in entities.flatMap(\.relationships) {
      guard case .links(let table, _) = relationship.storage else { continue }
      let held = [table.sourceRoot, table.targetRoot].allSatisfy { root in roots.contains { $0 === root } }
      if held { tables.insert(table) }
    }
    return tables.sorted { $0.name < $1.name }
  }

  /// Whether a difference between the model and the store may be bridged by adding to, or leaving out of, the schema.
  public var allowsMigration: Bool { bool(StoreOption.migrateAutomatically) ?? true }
  /// Whether the store is opened without the right to write.
  public var isReadOnly: Bool { bool(StoreOption.readOnly) ?? false }

  public func bool(_ option: String) -> Bool? {
    if case .bool(let value)? = options[option] { return value }
    return nil
  }
  public func int(_ option: String) -> Int? {
    if case .int(let value)? = options[option] { return value }
    return nil
  }
  public func string(_ option: String) -> String? {
    if case .string(let value)? = options[option] { return value }
    return nil
  }

  /// What a store made now, or brought up to date, says of itself.
  public func freshMetadata(identifier: StoreIdentifier) -> StoreMetadata {
    StoreMetadata(
      identifier: identifier, type: type.name,
      versionHashes: Dictionary(uniqueKeysWithValues: entities.map { ($0.name, $0.versionHash.rawValue) }))
  }
}

/// What a store says of itself, kept in the store.
public struct StoreMetadata: Sendable, Hashable, Codable {
  /// The store's identity, made when the store was.
  public var identifier: StoreIdentifier
  /// The name of the store type.
  public var type: String
  /// The version hash of each entity that the store holds.
  public var versionHashes: [String: String]
  /// What the application keeps there.
  public var userInfo: [String: String] = [:]

  public init(identifier: StoreIdentifier, type: String, versionHashes: [String: String]) {
    self.identifier = identifier
    self.type = type
    self.versionHashes = versionHashes
  }
}

extension StoreIdentifier: Codable {
  public init(from decoder: any Decoder) throws {
    self.init(try decoder.singleValueContainer().decode(String.self))
  }
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(rawValue)
  }
}
