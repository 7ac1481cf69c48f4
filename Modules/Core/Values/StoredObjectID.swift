/// The identity of a saved record as a value that needs no coordinator: the store, the entity and the key.
///
/// A ``ManagedObjectID`` belongs to a model in this process: it refers to the description of its entity, and
/// identifiers are compared by address. A text from another process cannot refer to that model. A stored identifier is
/// the parsed text: a process can decode, compare and pass it on without the attached store.
/// `PersistentStoreCoordinator.objectID(for:)` returns the identifier that contexts use.
///
/// ```swift
/// let text = try StoredObjectID(track.objectID).description
/// let id = try coordinator.objectID(for: StoredObjectID(text: text))
/// let same = context.object(with: id)
/// ```
/// The text `x-coherence://<store>/<entity>/p<key>` stays the same from release to release, also when a release renames
/// the entity and declares its former names. A slash and a percent sign in a name are percent-encoded. `Codable` as
/// this text. May be used on any thread.
public struct StoredObjectID: Sendable, Hashable {
  /// The store of the record.
  public let storeIdentifier: StoreIdentifier
  /// The name of the root of the record's entity hierarchy: the earliest of the names that the model declares. The
  /// record itself may be of a subentity.
  public let entityName: String
  /// The key within the store and the hierarchy.
  public let key: Int64

  /// The identity of a saved record.
  ///
  /// - Throws: ``ErrorCode/invalidIdentifier`` for a temporary identifier.
  public init(_ id: ManagedObjectID) throws(CoherenceError) {
    guard let store = id.storeIdentifier else {
      throw CoherenceError(
        .invalidIdentifier,
        "The identifier of an unsaved object of '\(id.entity.name)' is temporary and identifies no stored "
          + "record; save the object first, or call `obtainPermanentIDs(for:)`.")
    }
    self.init(storeIdentifier: store, entityName: id.space.root.nameInIdentifiers, key: id.key)
  }

  /// Parses the text of an identifier.
  ///
  /// - Throws: ``ErrorCode/invalidIdentifier`` for any other text than the ``description`` of a stored identifier.
  public init(text: String) throws(CoherenceError) {
    guard let id = StoredObjectID(text) else {
      throw CoherenceError(
        .invalidIdentifier,
        "The text is no identifier of a saved record; an identifier has the form 'x-coherence://store/entity/p1'.")
    }
    self = id
  }

  private init(storeIdentifier: StoreIdentifier, entityName: String, key: Int64) {
    self.storeIdentifier = storeIdentifier
    self.entityName = entityName
    self.key = key
  }
}

extension StoredObjectID: LosslessStringConvertible {
  /// The text of the identifier.
  public var description: String {
    "x-coherence://\(Self.encoded(storeIdentifier.rawValue))/\(Self.encoded(entityName))/p\(key)"
  }

  /// Parses the text of an identifier; `nil` for any other text, and for the text of a temporary identifier.
  public init?(_ description: String) {
    // The text is split by bytes, not by characters: a name may begin with a combining mark, which joins the slash
    // before it.
    let parts = description.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    guard parts.count == 5, parts[4].first == UInt8(ascii: "p"), let key = Int64(Substring(parts[4].dropFirst()))
    else { return nil }
    let (store, entity) = (Self.decoded(parts[2]), Self.decoded(parts[3]))
    guard !store.isEmpty, !entity.isEmpty else { return nil }
    self.init(storeIdentifier: StoreIdentifier(store), entityName: entity, key: key)
    // One identifier has one text: '+1', '01' and needless escapes are refused.
    guard self.description.hasSameBytes(as: description) else { return nil }
  }

  static func encoded(_ name: String) -> String {
    guard name.utf8.contains(where: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "%") }) else { return name }
    return name.unicodeScalars.reduce(into: "") { text, scalar in
      switch scalar {
      case "%": text += "%25"
      case "/": text += "%2F"
      default: text.unicodeScalars.append(scalar)
      }
    }
  }

  /// The name with its escapes resolved. An escape that ``encoded(_:)`` does not write stays as it is.
  private static func decoded(_ text: Substring.UTF8View) -> String {
    let parts = text.split(separator: UInt8(ascii: "%"), omittingEmptySubsequences: false)
    return parts.dropFirst().reduce(into: String(Substring(parts[0]))) { name, part in
      let escapes: [(text: String, scalar: Unicode.Scalar)] = [("2F", "/"), ("25", "%")]
      let escape = escapes.first { part.starts(with: $0.text.utf8) }
      name.unicodeScalars.append(escape?.scalar ?? "%")
      name.unicodeScalars.append(contentsOf: Substring(part.dropFirst(escape?.text.utf8.count ?? 0)).unicodeScalars)
    }
  }
}

extension StoredObjectID: Codable {
  /// Decodes the text of an identifier.
  ///
  /// - Throws: ``ErrorCode/invalidIdentifier`` for another text; errors of the decoder for another type.
  public init(from decoder: any Decoder) throws {
    try self.init(text: try decoder.singleValueContainer().decode(String.self))
  }

  /// Encodes the text of the identifier.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
