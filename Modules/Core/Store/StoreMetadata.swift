public import Foundation

/// The description of a store, kept in the store itself.
public struct StoreMetadata: Sendable, Hashable, Codable {
  /// The identity of the store, made when the store was created.
  public var identifier: StoreIdentifier
  /// The name of the store type.
  public var type: String
  /// The version hash of each entity in the model of the last recorded opening; see ``models``.
  public var versionHashes: [String: String]
  /// Texts of the application by key.
  public var userInfo: [String: String] = [:]
  /// The models with which programs opened the store, in the order of their first opening. The last model is the
  /// newest.
  ///
  /// The store records no opening to read only, with a part of its model, or without the right to migrate.
  public var models: [ModelRecord] = []

  /// Makes the metadata of a new store.
  public init(identifier: StoreIdentifier, type: String, versionHashes: [String: String]) {
    self.identifier = identifier
    self.type = type
    self.versionHashes = versionHashes
  }

  /// Decodes metadata. Metadata of earlier versions of the framework has no models.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    identifier = try container.decode(StoreIdentifier.self, forKey: .identifier)
    type = try container.decode(String.self, forKey: .type)
    versionHashes = try container.decode([String: String].self, forKey: .versionHashes)
    userInfo = try container.decode([String: String].self, forKey: .userInfo)
    models = try container.decodeIfPresent([ModelRecord].self, forKey: .models) ?? []
  }
}

/// A model with which a store was opened.
public struct ModelRecord: Sendable, Hashable, Codable {
  /// The model's name; `nil` for a model without a name.
  public var name: String?
  /// The model's version identifiers, sorted.
  public var versionIdentifiers: [String]
  /// The version hash of each entity that the store held for the model.
  public var versionHashes: [String: String]
  /// The date when a program with the model first opened the store; `nil` for a store of a version of the framework
  /// without this record.
  public var firstOpened: Date?
  /// The date when a program with the model last opened the store after a program with another model; `nil` as for
  /// ``firstOpened``.
  public var lastOpened: Date?

  /// Makes the record of a model.
  public init(
    name: String?, versionIdentifiers: [String], versionHashes: [String: String], firstOpened: Date?, lastOpened: Date?
  ) {
    self.name = name
    self.versionIdentifiers = versionIdentifiers
    self.versionHashes = versionHashes
    self.firstOpened = firstOpened
    self.lastOpened = lastOpened
  }
}

extension ModelRecord: CustomStringConvertible {
  /// The known parts of the name, the version and the day: `the model 'Music' 2.1, first opened on 2026-01-31`.
  public var description: String {
    var text = name.map { "the model '\($0)'" } ?? "a model without a name"
    if !versionIdentifiers.isEmpty { text += " " + versionIdentifiers.joined(separator: ", ") }
    if let firstOpened { text += ", first opened on \(firstOpened.formatted(.iso8601.year().month().day()))" }
    return text
  }
}

/// The age of a model in comparison with the models that opened a store before.
public enum ModelAge: Sendable, Hashable {
  /// The store has no record of an opening with the model.
  case unseen
  /// Programs have opened the store with the model, and later for the first time with another model.
  case older
  /// Programs have opened the store with the model, and later with no further model.
  case newest
}

extension StoreMetadata {
  /// Returns the age of a model with the given version hashes, in comparison with ``models``.
  public func age(ofModelWith hashes: [String: String]) -> ModelAge {
    if models.isEmpty { return hashes == versionHashes ? .newest : .unseen }
    guard let index = models.lastIndex(where: { $0.versionHashes == hashes }) else { return .unseen }
    return index == models.count - 1 ? .newest : .older
  }

  /// The record of the model of the last recorded opening.
  public var lastModel: ModelRecord? { models.last { $0.versionHashes == versionHashes } }

  /// The greatest number of recorded models. Beyond it, the oldest models are removed.
  static let modelLimit = 100

  /// Records that a program opened the store with a model. If the model was the last one already, its record stays as
  /// it is. A store of an earlier version of the framework first gets a record of its last model.
  package mutating func recordOpening(by record: ModelRecord) {
    if models.isEmpty {
      // For a store of an earlier version of the framework, only the hashes of the model are known.
      models = [
        ModelRecord(
          name: nil, versionIdentifiers: [], versionHashes: versionHashes, firstOpened: nil, lastOpened: nil)
      ]
    }
    let index = models.lastIndex { $0.versionHashes == record.versionHashes }
    if index != nil, versionHashes == record.versionHashes { return }
    versionHashes = record.versionHashes
    if let index {
      models[index].name = record.name ?? models[index].name
      models[index].versionIdentifiers = record.versionIdentifiers
      models[index].lastOpened = record.lastOpened
    } else {
      models.append(record)
      models.removeFirst(max(models.count - Self.modelLimit, 0))
    }
  }
}

extension StoreIdentifier: Codable {
  /// Decodes the text of the identifier. Any text is an identifier.
  public init(from decoder: any Decoder) throws {
    self.init(try decoder.singleValueContainer().decode(String.self))
  }
  /// Encodes the text of the identifier.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(rawValue)
  }
}
