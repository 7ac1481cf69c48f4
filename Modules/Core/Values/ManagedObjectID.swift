import Synchronization

/// The identifier of a record, equal in all contexts of a coordinator.
///
/// An identifier is temporary from insert until ``ManagedObjectContext/obtainPermanentIDs(for:)`` or a save gives the
/// record a key in a store. A context still resolves its temporary identifiers afterwards, until it is reset. But a
/// parent forgets those that only its children have returned, after many thousands of later inserts.
///
/// An identifier is two plain words, copied without reference counting, because spaces live as long as the process. May
/// be used on any thread.
public struct ManagedObjectID: Sendable, Hashable {
  // Safety of `Unmanaged`: spaces live as long as the process.
  @usableFromInline let unmanagedSpace: Unmanaged<IDSpace>
  /// The key within the space.
  public let key: Int64

  /// Makes an identifier of a key in a space, whether or not the record exists. For stores.
  @inlinable public init(space: IDSpace, key: Int64) {
    unmanagedSpace = Unmanaged.passUnretained(space)
    self.key = key
  }

  /// Makes an identifier of a key in the space of another identifier, without reference counting.
  @inlinable package init(inSpaceOf id: ManagedObjectID, key: Int64) {
    unmanagedSpace = id.unmanagedSpace
    self.key = key
  }

  /// The store and the entity hierarchy of the key.
  @inlinable public var space: IDSpace { unmanagedSpace.takeUnretainedValue() }

  /// Whether two identifiers have the same key in the same space. Compares two words. A temporary identifier never
  /// equals the permanent identifier of the same record.
  @inlinable public static func == (left: ManagedObjectID, right: ManagedObjectID) -> Bool {
    left.key == right.key && left.unmanagedSpace.toOpaque() == right.unmanagedSpace.toOpaque()
  }

  /// Whether both identifiers have the same space.
  @inlinable package func hasSameSpace(as other: ManagedObjectID) -> Bool {
    unmanagedSpace.toOpaque() == other.unmanagedSpace.toOpaque()
  }

  /// Hashes the key and the number of the space as one word.
  @inlinable public func hash(into hasher: inout Hasher) { hasher.combine(hashedWord) }

  /// Returns the hash value of ``hash(into:)`` in one step, as the integers of the standard library do. The state of a
  /// `Hasher` takes more than half of the time of a look-up by identifier.
  @inlinable public func _rawHashValue(seed: Int) -> Int { hashedWord._rawHashValue(seed: seed) }

  // One word: keys rarely use their upper bits, and equality compares both words.
  @inlinable var hashedWord: UInt64 { UInt64(bitPattern: key) ^ UInt64(truncatingIfNeeded: spaceNumber) << 40 }

  @inlinable var spaceNumber: Int { unmanagedSpace._withUnsafeGuaranteedRef { $0.number } }

  /// Whether the record has no key in a store yet.
  public var isTemporaryID: Bool { unmanagedSpace._withUnsafeGuaranteedRef { $0.isTemporary } }

  /// The store of the record; `nil` for a temporary identifier.
  public var storeIdentifier: StoreIdentifier? { space.store }

  /// The root of the record's entity hierarchy. The record itself may be of a subentity.
  public var entity: EntityDescription { space.root }

  /// A new temporary identifier, unique in this process.
  package static func temporary(for entity: EntityDescription) -> ManagedObjectID {
    let key = Self.lastTemporaryKey.add(1, ordering: .relaxed).newValue
    return ManagedObjectID(inSpaceOf: entity.blankID, key: key)
  }

  private static let lastTemporaryKey = Atomic<Int64>(0)
}

extension ManagedObjectID: CustomStringConvertible {
  /// The text of the ``StoredObjectID``. The text of a temporary identifier cannot be converted back to an identifier.
  public var description: String {
    if let stored = try? StoredObjectID(self) { return stored.description }
    return "x-coherence:///\(StoredObjectID.encoded(space.root.name))/t\(key)"
  }
}

/// The keys of one entity hierarchy in one store.
///
/// Each pair of store and hierarchy has one instance in the process, shared by all coordinators, so that identifiers
/// compare by reference. An instance lives as long as the process, as models do; the memory of its row table is freed
/// with the last row.
public final class IDSpace: Sendable {
  /// The store; `nil` for the space of temporary identifiers.
  public let store: StoreIdentifier?
  /// The root of the hierarchy.
  public let root: EntityDescription
  /// Whether this is a space of temporary identifiers.
  @usableFromInline let isTemporary: Bool
  /// Distinguishes spaces in this process.
  @usableFromInline let number: Int
  /// The rows of the space that contexts use.
  let rows = RowTable()

  private static let count = Atomic<Int>(0)

  init(store: StoreIdentifier?, root: EntityDescription) {
    self.store = store
    self.root = root
    isTemporary = store == nil
    self.number = Self.count.add(1, ordering: .relaxed).newValue
  }

  private struct Key: Hashable {
    let store: StoreIdentifier
    let root: ObjectIdentifier
  }
  private static let instances = Mutex<[Key: IDSpace]>([:])

  /// Returns the space of a hierarchy in a store, made on the first call.
  static func shared(store: StoreIdentifier, root: EntityDescription) -> IDSpace {
    let key = Key(store: store, root: ObjectIdentifier(root))
    return instances.withLock { instances in
      if let space = instances[key] { return space }
      let space = IDSpace(store: store, root: root)
      instances[key] = space
      return space
    }
  }
}

/// The spaces of one store, by hierarchy.
public struct IDSpaces: Sendable {
  /// The identity of the store.
  public let store: StoreIdentifier
  private let spaces: [ObjectIdentifier: IDSpace]

  /// The spaces of a store for every hierarchy of a model. Made once when a store is opened; equal arguments give the
  /// same spaces. May be called on any thread.
  public init(store: StoreIdentifier, model: ManagedObjectModel) {
    self.store = store
    var spaces: [ObjectIdentifier: IDSpace] = [:]
    for entity in model.entities where entity.superentity == nil {
      spaces[ObjectIdentifier(entity)] = IDSpace.shared(store: store, root: entity)
    }
    self.spaces = spaces
  }

  /// The space of an entity's hierarchy, at the cost of one look-up.
  ///
  /// - Precondition: The entity belongs to the model of the spaces.
  public subscript(entity: EntityDescription) -> IDSpace { spaces[ObjectIdentifier(entity.root)]! }

  /// Records in the table of each space that a store with the spaces is being attached; see
  /// ``RowTable/noteStore(at:isAttachedElsewhere:)``.
  func noteStore(at location: Int, isAttachedElsewhere: Bool) {
    for space in spaces.values { space.rows.noteStore(at: location, isAttachedElsewhere: isAttachedElsewhere) }
  }

  /// The space of the hierarchy whose root has a present or a former name; `nil` for an unknown name.
  func space(ofRoot name: String) -> IDSpace? {
    spaces.values.first { space in
      ([space.root.name] + space.root.formerNames).contains { $0.hasSameBytes(as: name) }
    }
  }
}

/// The identity of a store. The store itself keeps the identifier, so that it stays the same each time the store is
/// attached. A copy of a store has the identifier of the store, and is attached to another coordinator.
public struct StoreIdentifier: Sendable, Hashable, CustomStringConvertible {
  /// The text of the identifier, unique among stores.
  public let rawValue: String
  /// Makes an identifier from a text. Two stores with the same text cannot be attached to the same coordinator.
  public init(_ rawValue: String) { self.rawValue = rawValue }
  /// The text of the identifier, as the texts of record identifiers contain it.
  public var description: String { rawValue }
}
