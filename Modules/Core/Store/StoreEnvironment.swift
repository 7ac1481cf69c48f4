public import Foundation
public import Logging

/// The model, the location and the options with which a store is opened.
public struct StoreEnvironment: Sendable {
  /// The type of the store in the configuration.
  public var type: StoreType
  /// The location of the store; `nil` for a store without a location.
  public var url: URL?
  /// The name of the model configuration, `nil` for all entities.
  public var configurationName: String?
  /// The model of the coordinator.
  public var model: ManagedObjectModel
  /// The entities of the store, ancestors before descendants. Every hierarchy is complete, because its entities share a
  /// table.
  public var entities: [EntityDescription]
  /// The options of the configuration by name.
  public var options: [String: OptionValue]
  /// The logger for messages of the store. Values of records and passwords must not be logged.
  public var logger: Logger

  /// Makes an environment, for tests of stores. A coordinator makes the environments of its stores.
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

  /// The chosen entities with all entities of their hierarchies.
  private static func wholeHierarchies(_ chosen: [EntityDescription]) -> [EntityDescription] {
    var roots: [EntityDescription] = []
    for entity in chosen where !roots.contains(where: { $0 === entity.root }) { roots.append(entity.root) }
    return roots.flatMap(\.hierarchy)
  }

  /// The roots of the hierarchies that the store holds.
  public var roots: [EntityDescription] { entities.filter { $0.superentity == nil } }

  /// The link tables between entities of the store, sorted by name.
  public var linkTables: [LinkTable] {
    var tables: Set<LinkTable> = []
    for relationship in entities.flatMap(\.relationships) {
      guard case .links(let table, _) = relationship.storage else { continue }
      let holdsBothEnds = [table.sourceRoot, table.targetRoot].allSatisfy { root in roots.contains { $0 === root } }
      if holdsBothEnds { tables.insert(table) }
    }
    return tables.sorted { $0.name < $1.name }
  }

  /// Whether the store's schema may be extended to the model.
  public var allowsMigration: Bool { bool(StoreOption.migrateAutomatically) ?? true }
  /// Whether a migration may drop stored values and records that the model cannot keep.
  public var allowsDataLoss: Bool { bool(StoreOption.allowsDataLoss) ?? false }
  /// Whether the store may lack the constraints of keys; see ``StoreOption/allowsDuplicateKeys``.
  public var allowsDuplicateKeys: Bool { bool(StoreOption.allowsDuplicateKeys) ?? false }
  /// Whether attaching fails for a model that seems to rename an attribute without declaring the rename.
  public var refusesSuspectedRenames: Bool { bool(StoreOption.refusesSuspectedRenames) ?? false }
  /// Whether the model is a part of the store's model, so that opening the store changes nothing in it; see
  /// ``StoreOption/partialModel``.
  public var isPartialModel: Bool { bool(StoreOption.partialModel) ?? false }
  /// Whether the store is opened for reading only.
  public var isReadOnly: Bool { bool(StoreOption.readOnly) ?? false }

  /// Returns the value of a boolean option; `nil` if the option is missing or of another type.
  public func bool(_ option: String) -> Bool? {
    if case .bool(let value)? = options[option] { return value }
    return nil
  }
  /// Returns the value of an integer option; `nil` if the option is missing or of another type.
  public func int(_ option: String) -> Int? {
    if case .int(let value)? = options[option] { return value }
    return nil
  }
  /// Returns the value of a text option; `nil` if the option is missing or of another type.
  public func string(_ option: String) -> String? {
    if case .string(let value)? = options[option] { return value }
    return nil
  }

  /// Returns the metadata of a new store, or of a store just migrated to the model.
  public func freshMetadata(identifier: StoreIdentifier) -> StoreMetadata {
    let record = modelRecord
    var metadata = StoreMetadata(identifier: identifier, type: type.name, versionHashes: record.versionHashes)
    metadata.models = [record]
    return metadata
  }

  /// The record of the model for a store opened now. Dates are whole seconds, so that their text is exact.
  package var modelRecord: ModelRecord {
    let now = Date(timeIntervalSince1970: Date.now.timeIntervalSince1970.rounded(.down))
    return ModelRecord(
      name: model.name, versionIdentifiers: model.versionIdentifiers.sorted(),
      versionHashes: Dictionary(uniqueKeysWithValues: entities.map { ($0.name, $0.versionHash.rawValue) }),
      firstOpened: now, lastOpened: now)
  }
}

extension StoreEnvironment: CustomStringConvertible, CustomReflectable {
  /// The type, the configuration and the location, without possible secrets in the location.
  public var description: String {
    let configuration = configurationName.map { ", configuration: '\($0)'" } ?? ""
    return "<StoreEnvironment> (type: \(type)\(configuration), url: \(url?.withoutSecrets ?? "none"))"
  }

  /// The properties without the values of options, and without possible secrets in the URL.
  public var customMirror: Mirror {
    Mirror(
      self,
      children: [
        "type": type, "url": url?.withoutSecrets as Any, "configurationName": configurationName as Any,
        "entities": entities.map(\.name), "options": options.keys.sorted(),
      ], displayStyle: .struct)
  }
}
