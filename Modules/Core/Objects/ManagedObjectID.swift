import CoherenceRuntime
import Synchronization

/// The identity of a record, the same in every context of a coordinator.
///
/// An identifier is temporary from insert until ``ManagedObjectContext/obtainPermanentIDs(for:)`` or a save gives the
/// record its place in a store. A context goes on resolving a temporary identifier that it handed out.
public struct ManagedObjectID: Sendable, Hashable {
  /// The store and the hierarchy that the key belongs to.
  public let space: IDSpace
  /// The key within the space.
  public let key: Int64

  @inlinable public init(space: IDSpace, key: Int64) {
    self.space = space
    self.key = key
  }

  @inlinable public static func == (left: ManagedObjectID, right: ManagedObjectID) -> Bool {
    left.key == right.key && left.space === right.space
  }

  @inlinable public func hash(into hasher: inout Hasher) {
    // One word: a key rarely needs its upper bits, and equality tells the rest apart.
    hasher.combine(UInt64(bitPattern: key) ^ UInt64(truncatingIfNeeded: space.number) << 40)
  }

  /// Whether the record has no place in a store yet.
  public var isTemporaryID: Bool { space.store == nil }

  /// The store that holds the record.
  public var storeIdentifier: StoreIdentifier? { space.store }

  /// The root of the record's entity hierarchy. The record itself may be of a subentity.
  public var entity: EntityDescription { space.root }

  /// A fresh temporary identifier, unique in this process.
  package static func temporary(for entity: EntityDescription) -> ManagedObjectID {
    let key = Self.lastTemporaryKey.add(1, ordering: .relaxed).newValue
    return ManagedObjectID(space: entity.root.temporarySpace, key: key)
  }

  private static let lastTemporaryKey = Atomic<Int64>(0)
}

extension ManagedObjectID: CustomStringConvertible {
  /// `x-coherence://<store>/<entity>/p<key>`, or `t<key>` without a store.
  public var description: String {
    guard let store = space.store else { return "x-coherence:///\(space.root.name)/t\(key)" }
    return "x-coherence://\(store)/\(space.root.name)/p\(key)"
  }
}

/// The keys of one entity hierarchy in one store.
///
/// There is one instance for each pair, whatever number of coordinators has the store attached, so that identifiers
/// compare by reference.
public final class IDSpace: Sendable {
  /// The store; `nil` for the space of temporary identifiers.
  public let store: StoreIdentifier?
  /// The root of the hierarchy.
  public let root: EntityDescription
  /// Tells spaces apart in this process.
  @usableFromInline let number: Int
  /// The rows of the space that are in use.
  let rows = RowTable()

  private static let count = Atomic<Int>(0)

  init(store: StoreIdentifier?, root: EntityDescription) {
    self.store = store
    self.root = root
    self.number = Self.count.add(1, ordering: .relaxed).newValue
  }

  private struct Key: Hashable {
    let store: StoreIdentifier
    let root: ObjectIdentifier
  }
  /// The spaces that are in use, by address. They are not kept: a space takes itself out in its `deinit`, under the
  /// lock under which others take their reference. A weak reference would do the same, at the price of a side table
  /// that every row of the space would pay for.
  private static let known = Mutex<[Key: UInt]>([:])

  static func shared(store: StoreIdentifier, root: EntityDescription) -> IDSpace {
    let key = Key(store: store, root: ObjectIdentifier(root))
    return known.withLock { known in
      if let address = known[key].flatMap({ UnsafeMutableRawPointer(bitPattern: $0) }),
        let retained = swift_tryRetain(address)
      {
        return Unmanaged<IDSpace>.fromOpaque(retained).takeRetainedValue()
      }
      let space = IDSpace(store: store, root: root)
      known[key] = UInt(bitPattern: Unmanaged.passUnretained(space).toOpaque())
      return space
    }
  }

  deinit {
    guard let store else { return }
    let key = Key(store: store, root: ObjectIdentifier(root))
    let address = UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque())
    Self.known.withLock { known in
      if known[key] == address { known[key] = nil }
    }
  }
}

/// The spaces of one store, by hierarchy.
public struct IDSpaces: Sendable {
  public let store: StoreIdentifier
  private let spaces: [ObjectIdentifier: IDSpace]

  /// The spaces of a store for every hierarchy of a model.
  public init(store: StoreIdentifier, model: ManagedObjectModel) {
    self.store = store
    var spaces: [ObjectIdentifier: IDSpace] = [:]
    for entity in model.entities where entity.superentity == nil {
      spaces[ObjectIdentifier(entity)] = IDSpace.shared(store: store, root: entity)
    }
    self.spaces = spaces
  }

  /// The space of an entity's hierarchy. The entity must be of the model that the spaces were made for.
  public subscript(entity: EntityDescription) -> IDSpace { spaces[ObjectIdentifier(entity.root)]! }
}

/// The identity of a store, kept in the store itself, so that it is the same whenever it is attached.
public struct StoreIdentifier: Sendable, Hashable, CustomStringConvertible {
  public let rawValue: String
  public init(_ rawValue: String) { self.rawValue = rawValue }
  public var description: String { rawValue }
}
