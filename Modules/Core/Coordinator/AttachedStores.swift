package import Foundation
import Synchronization

/// The identity of a store, which distinguishes a store from a copy of its file: the copy has the same identifier.
package struct StoreIdentity: Sendable, Hashable {
  private let identifier: StoreIdentifier
  /// The path of a store in a file; `nil` for any other store, whose identifier alone identifies it.
  private let path: String?

  package init(identifier: StoreIdentifier, url: URL?) {
    self.identifier = identifier
    path = Self.filePath(of: url)
  }

  package init(_ store: any PersistentStore) { self.init(identifier: store.identifier, url: store.url) }

  /// The path of a file, the same for each link to the file; `nil` for any other location.
  static func filePath(of url: URL?) -> String? {
    guard let url, url.isFileURL else { return nil }
    return url.resolvingSymlinksInPath().standardizedFileURL.path
  }
}

/// The stores attached in this process, with their coordinators. A store may be erased only if no other coordinator
/// uses it. Stores that other processes have open are not known.
final class AttachedStores: Sendable {
  /// One store in one coordinator.
  private struct Attachment {
    let identity: StoreIdentity
    let coordinator: ObjectIdentifier
    let spaces: IDSpaces
    let saves: SaveCount
  }
  private struct State {
    var attachments: [ObjectIdentifier: Attachment] = [:]
    /// The stores in exclusive use, with the number of nested calls.
    var reserved: [StoreIdentity: Int] = [:]
  }
  private let state = Mutex(State())

  static let all = AttachedStores()

  /// Records that a store is attached to a coordinator. Called before a context can read the store.
  ///
  /// - Throws: ``ErrorCode/storeBusy`` for a store in exclusive use.
  func add(_ store: any PersistentStore, to coordinator: PersistentStoreCoordinator) throws(CoherenceError) {
    let attachment = Attachment(
      identity: StoreIdentity(store), coordinator: ObjectIdentifier(coordinator), spaces: store.spaces,
      saves: coordinator.saves)
    let location = store.locationHash
    let isFree = state.withLock { state in
      guard state.reserved[attachment.identity] == nil else { return false }
      let isElsewhere = state.attachments.values.contains { $0.spaces.store == store.identifier }
      store.spaces.noteStore(at: location, isAttachedElsewhere: isElsewhere)
      state.attachments[ObjectIdentifier(store)] = attachment
      return true
    }
    guard !isFree else { return }
    throw CoherenceError(
      .storeBusy, "The store cannot be attached while it is being destroyed; attach it again afterwards.",
      isRetryable: true)
  }

  func remove(_ store: any PersistentStore) {
    state.withLock { _ = $0.attachments.removeValue(forKey: ObjectIdentifier(store)) }
  }

  /// The spaces of an attached store's keys, for each model that it is attached with.
  func spaces(of store: StoreIdentifier) -> [IDSpaces] {
    state.withLock { $0.attachments.values.map(\.spaces).filter { $0.store == store } }
  }

  /// The counts of saves of other coordinators that share an attached store with a coordinator.
  func saveCounts(ofCoordinatorsSharingStoresWith coordinator: PersistentStoreCoordinator) -> [SaveCount] {
    let coordinator = ObjectIdentifier(coordinator)
    return state.withLock { state in
      let elsewhere = state.attachments.values.filter { $0.coordinator != coordinator }
      // Most programs have one coordinator.
      guard !elsewhere.isEmpty else { return [] }
      let identities = Set(state.attachments.values.lazy.filter { $0.coordinator == coordinator }.map(\.identity))
      return elsewhere.filter { identities.contains($0.identity) }.map(\.saves)
    }
  }

  /// Begins the exclusive use of stores, which ends with ``release(_:)``.
  ///
  /// - Throws: ``ErrorCode/storeBusy`` when another coordinator has one of the stores attached.
  func reserve(_ identities: [StoreIdentity], for coordinator: PersistentStoreCoordinator) throws(CoherenceError) {
    let isFree = state.withLock { state in
      let elsewhere = state.attachments.values.filter { $0.coordinator != ObjectIdentifier(coordinator) }
      guard !elsewhere.contains(where: { identities.contains($0.identity) }) else { return false }
      for identity in identities { state.reserved[identity, default: 0] += 1 }
      return true
    }
    guard !isFree else { return }
    throw CoherenceError(
      .storeBusy,
      "The store cannot be destroyed, because another coordinator of this process has it attached; "
        + "detach it there first.")
  }

  /// Ends an exclusive use of stores.
  func release(_ identities: [StoreIdentity]) {
    state.withLock { state in
      for identity in identities {
        let count = state.reserved[identity, default: 1] - 1
        state.reserved[identity] = count > 0 ? count : nil
      }
    }
  }
}

extension PersistentStore {
  /// A hash of the location, which distinguishes a store from its copies. A store in a file has the same hash for each
  /// link to the file. Two ways to name one server's store may have different hashes.
  fileprivate var locationHash: Int {
    var hasher = Hasher()
    if let path = StoreIdentity.filePath(of: url) {
      hasher.combine(path)
    } else {
      hasher.combine(url)
      hasher.combine(environment.options)
    }
    return hasher.finalize()
  }
}

extension PersistentStoreCoordinator {
  /// Runs a block with exclusive use of stores: no other coordinator of this process has them attached, or can attach
  /// them during the block.
  ///
  /// - Throws: ``ErrorCode/storeBusy`` when another coordinator has one of the stores attached; the block does not run
  ///   then. The block's error.
  package func withExclusiveUse<T>(of identities: [StoreIdentity], _ body: () throws -> T) throws -> T {
    try AttachedStores.all.reserve(identities, for: self)
    // The readers of the main queue's turn end, because statements that drop tables wait for open transactions.
    MainTurns.endUnits()
    for store in persistentStores where identities.contains(StoreIdentity(store)) { lastingReaders.release(store) }
    defer { AttachedStores.all.release(identities) }
    return try body()
  }
}
