import Foundation

/// An archive of the entities and aliases of a store, from which a later run of the program restores them.
///
/// ```swift
/// var archive = EntityArchive()
/// try archive.add(Post.self, as: "post", from: store)
/// try archive.add(alias: .currentUser, from: store)
/// try JSONEncoder().encode(archive).write(to: file)
/// ```
///
/// Entries have the names that you give, not the names of types, so that types can be renamed. Stamps are archived, and
/// so is the mark of an invalidated entity; see ``EntityStore/invalidate(_:id:)``. Tentative changes are not, see
/// ``OptimisticChange``, nor are expired entities and the times of writes: a restored entity is new.
///
/// An alias is archived with its own stamp and with the stamps and marks of its entities. The entities of a restored
/// set have the stamp of the alias, because a set has no order that assigns the archived stamps to them.
///
/// The nested entities of an aggregate are archived as parts of its value, without stamps of their own: a restored
/// aggregate stores them with its stamp.
///
/// Decoding an archive of any content makes values of your types or throws. An archive is not signed: whoever can write
/// it chooses the restored values and their stamps. Keep it where only the program can write.
public struct EntityArchive: Codable, Sendable {
  /// One archived value.
  private struct Entry: Codable, Sendable {
    /// A JSON array with the value as its only element.
    let value: Data
    let stamp: ArchivedStamp?
    /// Whether the entity is invalidated; `nil` for a valid entity, and in archives of earlier releases.
    let isInvalidated: Bool?
    /// The states of the entities of an alias, in the order of its content; `nil` for an entity, and in archives of
    /// earlier releases.
    let entities: [EntityState]?

    init(value: Data, stamp: Stamp, isInvalidated: Bool = false, entities: [EntityState]? = nil) {
      self.value = value
      self.stamp = ArchivedStamp(stamp)
      self.isInvalidated = isInvalidated ? true : nil
      self.entities = entities
    }
  }

  /// The state of an entity in the content of an alias.
  private struct EntityState: Codable, Sendable {
    var stamp: ArchivedStamp?
    /// Whether the entity is invalidated; `nil` for a valid entity.
    var isInvalidated: Bool?
  }

  /// The entries of each type, by the name in the archive.
  private var entities: [String: [Entry]] = [:]
  private var aliases: [String: Entry] = [:]

  /// Makes an empty archive.
  public init() {}

  /// Adds all entities of a type, except for expired ones.
  /// - Throws: The error of the encoder: JSON does not encode values nested more than 512 deep.
  public mutating func add<T: Identifiable & Sendable & Encodable>(
    _ type: T.Type, as name: String, from store: EntityStore
  ) throws {
    let values = store.core.exclusively {
      let table = store.core.table(of: type)
      table.prepareSearch()
      // Within another operation, expired entities wait for its end.
      let expired = Set(table.presentNodes.filter { table.isExpired($0) }.map { ObjectIdentifier($0) })
      return store.core.withConfirmedValues {
        table.presentNodes.filter { !expired.contains(ObjectIdentifier($0)) }.map { node in
          (node.read(), node.stamp, node.relations?.height ?? 0, node.flags.contains(.invalidated))
        }
      }
    }
    entities[name] = try values.map { value, stamp, height, isInvalidated in
      Entry(value: try Self.encode(value, height: height), stamp: stamp, isInvalidated: isInvalidated)
    }
  }

  /// Adds the content of an alias, if it has any.
  /// - Parameter name: The alias's own name by default; aliases of different types that share a name need different
  ///   names here.
  /// - Throws: The error of the encoder.
  public mutating func add<Content: Sendable & Encodable>(
    alias: AliasKey<Content>, as name: String? = nil, from store: EntityStore
  ) throws {
    let content = store.core.exclusively {
      store.core.withConfirmedValues {
        store.core.aliases[alias].flatMap { node in
          node.read().map { ($0, node.stamp, node.relations?.height ?? 0, Self.states(of: $0, in: node)) }
        }
      }
    }
    guard let content else { return }
    aliases[name ?? alias.name] = Entry(
      value: try Self.encode(content.0, height: content.2), stamp: content.1, entities: content.3)
  }

  private static func states<Content: Sendable>(of content: Content, in alias: AliasNode<Content>) -> [EntityState] {
    var collector = ChildCollector(core: alias.core, stamp: nil, mode: .lookingUp)
    alias.shape.collect(content, &collector)
    return collector.children.map { node in
      EntityState(
        stamp: ArchivedStamp(node.stamp), isInvalidated: node.flags.contains(.invalidated) ? true : nil)
    }
  }

  /// Stores the archived entities of a type. A stored value stays if its stamp is equal or higher; an archived value
  /// without a stamp replaces it.
  /// - Returns: An observer that retains the entities. Release it once other parts of the program retain them.
  /// - Throws: The error of the decoder; then no entity is stored.
  public func restore<T: Identifiable & Sendable & Decodable>(
    _ type: T.Type, as name: String, to store: EntityStore
  ) throws -> EntityObserver<[T]> {
    let entries = entities[name] ?? []
    let values = try entries.map { (try Self.decode(T.self, $0), $0.stamp?.stamp) }
    return store.core.exclusively {
      let table = store.core.table(of: type)
      // An expired entity must not reject an archived value.
      table.prepareSearch()
      let results = values.map { table.put($0.0, stamp: $0.1) }
      // Afterwards, because an entity can be nested in a later one, and a write removes the mark.
      for (entry, result) in zip(entries, results) where entry.isInvalidated == true && result.kind != .rejected {
        store.core.record(result.node)
        result.node.flags.insert(.invalidated)
      }
      let nodes = results.map { $0.node }
      return EntityObserver(ListNode<T>.make(nodes, core: store.core))
    }
  }

  /// Restores the content of an alias, if the archive has it. An alias without a stamp gets the entity as the store has
  /// it, and the archived value only of an absent entity. With a stamp, the alias accepts the content as
  /// ``EntityStore/store(entity:named:modifiedAt:ifPresent:)`` does. The entity has its own archived stamp, which
  /// decides whether a stored value stays.
  /// - Throws: The error of the decoder.
  public func restore<T: Identifiable & Sendable & Decodable>(
    alias: AliasKey<T>, as name: String? = nil, to store: EntityStore
  ) throws {
    guard let entry = aliases[name ?? alias.name] else { return }
    let entity = try Self.decode(T.self, entry)
    Self.restore(entity, of: [entity], as: alias, shape: .entity(), entry, to: store)
  }

  /// Restores the content of an alias of a collection, if the archive has it. An alias without a stamp gets the
  /// entities as the store has them, and the archived values only of absent entities. The entities have their own
  /// archived stamps; see ``restore(alias:as:to:)``.
  /// - Throws: The error of the decoder.
  public func restore<C: Collection & Sendable & Decodable>(
    alias: AliasKey<C>, as name: String? = nil, to store: EntityStore
  ) throws where C.Element: Identifiable & Sendable {
    guard let entry = aliases[name ?? alias.name] else { return }
    let entities = try Self.decode(C.self, entry)
    Self.restore(entities, of: Array(entities), as: alias, shape: .list(), entry, to: store)
  }

  /// Restores the content of an alias with its entities.
  private static func restore<Content: Sendable, T: Identifiable & Sendable>(
    _ content: Content, of entities: [T], as alias: AliasKey<Content>, shape: NestedShape<Content>, _ entry: Entry,
    to store: EntityStore
  ) {
    let isOrdered = !(Content.self is any SetAlgebra.Type)
    let states = entry.entities.flatMap { isOrdered && $0.count == entities.count ? $0 : nil }
    store.core.exclusively {
      let table = store.core.table(of: T.self)
      table.prepareSearch()
      var invalidated: [Node] = []
      for (index, entity) in entities.enumerated() {
        // Archives of earlier releases have the stamp of the alias alone.
        let state = states?[index] ?? EntityState(stamp: entry.stamp)
        // Without a stamp of the alias, the values of the store are those of a later run.
        guard table.knownNode(entity.id) == nil || entry.stamp != nil && state.stamp != nil else { continue }
        let result = table.put(entity, stamp: state.stamp?.stamp)
        if state.isInvalidated == true, result.kind != .rejected { invalidated.append(result.node) }
      }
      // Afterwards, as for the entities of a type.
      for node in invalidated {
        store.core.record(node)
        node.flags.insert(.invalidated)
      }
      // The entities are stored already, except for those that their remembered stamps reject.
      store.core.setAlias(alias, to: content, shape: shape, stamp: entry.stamp?.stamp, mode: .lookingUp)
    }
  }

  /// The greatest height of a value, the number of entities nested in each other, that an error of the encoder may
  /// contain.
  private static let greatestDescribedHeight: Int32 = 32

  /// Encodes a value as the only element of a JSON array, because an encoder may refuse a single number or text.
  /// - Parameter height: The height of the value's node. The encoder refuses a deep value only after a walk over all of
  ///   its levels.
  private static func encode<Value: Encodable>(_ value: Value, height: Int32) throws -> Data {
    // The encoder uses more stack for a level than other walks.
    try StackSpace.forValue(ofHeight: height * 8) {
      Result {
        do {
          return try JSONEncoder().encode([value])
        } catch EncodingError.invalidValue(_, let context) where height > greatestDescribedHeight {
          // Without the value: the description of the error would go through all of it, on the stack of the reader.
          throw EncodingError.invalidValue("A \(Value.self) of \(height) levels", context)
        }
      }
    }.get()
  }

  /// Decodes the only element of the JSON array that ``encode(_:height:)`` made.
  private static func decode<Value: Decodable>(_ type: Value.Type, _ entry: Entry) throws -> Value {
    let values = try JSONDecoder().decode([Value].self, from: entry.value)
    guard let value = values.first else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: [], debugDescription: "An entry of the archive has no value."))
    }
    return value
  }
}

/// A stamp in an archive. Infinite stamps are encoded as words, because not every format has numbers for them.
private struct ArchivedStamp: Codable, Sendable {
  let stamp: Stamp

  /// Makes `nil` of a missing stamp, which is not a number.
  init?(_ stamp: Stamp) {
    if stamp.isNaN { return nil }
    self.stamp = stamp
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let number = try? container.decode(Stamp.self) {
      stamp = number
      return
    }
    switch try container.decode(String.self) {
    case "inf": stamp = .infinity
    case "-inf": stamp = -.infinity
    // An infinite stamp in place of a damaged stamp would reject every later value.
    default: throw DecodingError.dataCorruptedError(in: container, debugDescription: "A stamp is no number.")
    }
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    if stamp.isFinite { try container.encode(stamp) } else { try container.encode(stamp < 0 ? "-inf" : "inf") }
  }
}
