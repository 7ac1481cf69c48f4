extension PersistentStoreCoordinator {
  /// Returns the identifier of a record in an attached store. Reads no store, so that the record may not exist any
  /// more. The stored identifier may have a former name of the entity. May be called on any thread.
  ///
  /// - Throws: ``ErrorCode/storeDetached`` when the store of the record is not attached, ``ErrorCode/unknownEntity``
  ///   when the model lacks the entity, or has it as a subentity, and ``ErrorCode/noStore`` when the store does not
  ///   hold the entity, because the model has moved it to another configuration.
  public func objectID(for id: StoredObjectID) throws(CoherenceError) -> ManagedObjectID {
    guard let store = persistentStore(with: id.storeIdentifier) else { throw id.withoutStore }
    let entity = try managedObjectModel.entity(identifiedAs: id.entityName)
    guard entity.root === entity else { throw id.withoutHierarchy }
    guard store.environment.entities.contains(where: { $0 === entity }) else { throw id.outsideOfStore }
    return ManagedObjectID(space: store.spaces[entity], key: id.key)
  }
}

extension CodingUserInfoKey {
  /// The key of the coordinator to whose model decoded identifiers belong.
  ///
  /// Needed only where a store is attached to several coordinators with different models. In any other case an
  /// identifier finds the attached store by itself.
  ///
  /// ```swift
  /// decoder.userInfo[.persistentStoreCoordinator] = coordinator
  /// ```
  public static var persistentStoreCoordinator: CodingUserInfoKey {
    // Foundation makes a key from any text.
    CodingUserInfoKey(rawValue: "coherence.persistentStoreCoordinator")!
  }
}

/// Coded as the text of a ``StoredObjectID``.
///
/// An identifier belongs to a model, so that decoding needs the store: the coordinator of
/// `CodingUserInfoKey.persistentStoreCoordinator`, or else any coordinator of the process with the store attached.
/// Decode a ``StoredObjectID`` where the store is attached later or never.
extension ManagedObjectID: Codable {
  /// Decodes the identifier of a record in an attached store. Reads no store.
  ///
  /// - Throws: ``ErrorCode/invalidIdentifier`` for any other text, and when coordinators with different models have the
  ///   store attached and the decoder names none; with a coordinator as ``PersistentStoreCoordinator/objectID(for:)``;
  ///   ``ErrorCode/storeDetached``; ``ErrorCode/unknownEntity``; errors of the decoder.
  public init(from decoder: any Decoder) throws {
    let id = try StoredObjectID(from: decoder)
    if let coordinator = decoder.userInfo[.persistentStoreCoordinator] as? PersistentStoreCoordinator {
      self = try coordinator.objectID(for: id)
    } else {
      self = try Self.attached(id)
    }
  }

  /// Encodes the text of the identifier.
  ///
  /// - Throws: ``ErrorCode/invalidIdentifier`` for a temporary identifier.
  public func encode(to encoder: any Encoder) throws { try StoredObjectID(self).encode(to: encoder) }

  /// The identifier of a record in a store that the process has attached.
  private static func attached(_ id: StoredObjectID) throws(CoherenceError) -> ManagedObjectID {
    let stores = AttachedStores.all.spaces(of: id.storeIdentifier)
    guard !stores.isEmpty else { throw id.withoutStore }
    let spaces = stores.compactMap { $0.space(ofRoot: id.entityName) }
    guard let space = spaces.first else { throw id.withoutHierarchy }
    guard spaces.allSatisfy({ $0 === space }) else {
      throw CoherenceError(
        .invalidIdentifier,
        "The identifier of '\(id.entityName)' fits several models, because its store is attached with each; give the "
          + "decoder a coordinator in `userInfo[.persistentStoreCoordinator]`.")
    }
    return ManagedObjectID(space: space, key: id.key)
  }
}

extension StoredObjectID {
  fileprivate var withoutHierarchy: CoherenceError {
    CoherenceError(
      .unknownEntity,
      "The identifier is of the entity '\(entityName)', which the model of its store does not have as the root of a "
        + "hierarchy; decode it with the model that it was made with.")
  }

  fileprivate var outsideOfStore: CoherenceError {
    CoherenceError(
      .noStore,
      "The identifier is of a record of '\(entityName)' in a store that is attached without this entity; attach the "
        + "store for a configuration with the entity, or assign the identifier of a record of another store.")
  }

  fileprivate var withoutStore: CoherenceError {
    CoherenceError(
      .storeDetached,
      "The identifier of a record of '\(entityName)' is of a store that is not attached; attach the store first, or "
        + "decode a `StoredObjectID`.")
  }
}
