public import Foundation

/// The description of a store, kept in the store itself.
public struct StoreMetadata: Sendable, Hashable, Codable {
  /// The identity of the store, made when the store was created.
  public var identifier: StoreIdentifier
  /// The name of the store type.
  public var type: String
  /// The version hash of each entity of the model that opened the store last.
  public var versionHashes: [String: String]
  /// Texts of the application by key.
  public var userInfo: [String: String] = [:]
  /// The models that opened the store to write, in the order of their first opening: the last model is the newest.
  public var models: [ModelRecord] = []

  public init(identifier: StoreIdentifier, type: String, versionHashes: [String: String]) {
    self.identifier = identifier
    self.type = type
    self.versionHashes = versionHashes
  }

  /// Decodes metadata. Stores of earlier versions of the framework have no record of models.
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
  /// The model's name, if it has one.
  public var name: String?
  /// The model's version identifiers, sorted.
  public var versionIdentifiers: [String]
  /// The version hash of each entity that the store held for the model.
  public var versionHashes: [String: String]
  /// When a program with the model opened the store for the first time; `nil` for a store made before this was
  /// recorded.
  public var firstOpened: Date?
  /// When a program with the model last opened the store after one with another model.
  public var lastOpened: Date?

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
  /// The name, the version and the day, as far as they are known: `the model 'Music' 2.1, first opened on 2026-01-31`.
  public var description: String {
    var text = name.map { "the model '\($0)'" } ?? "a model without a name"
    if !versionIdentifiers.isEmpty { text += " " + versionIdentifiers.joined(separator: ", ") }
    if let firstOpened { text += ", first opened on \(firstOpened.formatted(.iso8601.year().month().day()))" }
    return text
  }
}

/// The age of a model in comparison with the models that opened a store before.
public enum ModelAge: Sendable, Hashable {
  /// No program has opened the store with the model.
  case unseen
  /// Programs have opened the store with the model, and with another one for the first time afterwards.
  case older
  /// Programs have opened the store with the model, and with no other for the first time afterwards.
  case newest
}

extension StoreMetadata {
  /// The age of a model with the given version hashes, in comparison with the models that opened the store.
  public func age(ofModelWith hashes: [String: String]) -> ModelAge {
    if models.isEmpty { return hashes == versionHashes ? .newest : .unseen }
    guard let index = models.lastIndex(where: { $0.versionHashes == hashes }) else { return .unseen }
    return index == models.count - 1 ? .newest : .older
  }

  /// The record of the model that opened the store last.
  public var lastModel: ModelRecord? { models.last { $0.versionHashes == versionHashes } }

  /// The greatest number of remembered models. The models that opened the store first are removed above it.
  static let modelLimit = 100

  /// Records that a program opened the store with a model. Changes nothing when the model opened it last already.
  package mutating func recordOpening(by record: ModelRecord) {
    if models.isEmpty {
      // A store of an earlier version of the framework: its model is known by its hashes alone.
      models = [
        ModelRecord(
          name: nil, versionIdentifiers: [], versionHashes: versionHashes, firstOpened: nil, lastOpened: nil)
      ]
    }
    let known = models.lastIndex { $0.versionHashes == record.versionHashes }
    if known != nil, versionHashes == record.versionHashes { return }
    versionHashes = record.versionHashes
    if let known {
      models[known].name = record.name ?? models[known].name
      models[known].versionIdentifiers = record.versionIdentifiers
      models[known].lastOpened = record.lastOpened
    } else {
      models.append(record)
      models.removeFirst(max(models.count - Self.modelLimit, 0))
    }
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
