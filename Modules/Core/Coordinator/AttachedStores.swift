package import Foundation
import Synchronization

/// The identity of a store, different from that of a copy of its file.
package struct StorePlace: Sendable, Hashable {
  private let identifier: StoreIdentifier
  /// Of a file alone: other stores with one identifier are one store, at any address.
  private let path: String?

  package init(identifier: StoreIdentifier, url: URL?) {
    self.identifier = identifier
    path = url.flatMap { $0.isFileURL ? $0.resolvingSymlinksInPath().standardizedFileURL.path : nil }
  }

  package init(_ store: any PersistentStore) { self.init(identifier: store.identifier, url: store.url) }
}

/// The stores attached in this process, and their coordinators: a store to be erased must have no other user. The
/// stores that other processes have open are not known.
final class AttachedStores: Sendable {
  private struct Attachment {
    let place: StorePlace
    let coordinator: ObjectIdentifier
  }
  private struct State {
    var attachments: [ObjectIdentifier: Attachment] = [:]
    /// The places in sole use, and how often: the calls may be nested.
    var reserved: [StorePlace: Int] = [:]
  }
  private let state = Mutex(State())

  static let all = AttachedStores()

  /// - Throws: ``ErrorCode/storeBusy`` for a store in sole use.
  func add(_ store: any PersistentStore, to coordinator: PersistentStoreCoordinator) throws(CoherenceError) {
    let attachment = Attachment(place: StorePlace(store), coordinator: ObjectIdentifier(coordinator))
    let isFree = state.withLock { state in
      guard state.reserved[attachment.place] == nil else { return false }
      state.attachments[ObjectIdentifier(store)] = attachment
      return true
    }
    guard !isFree else { return }
    throw CoherenceError(
      .storeBusy, "The store is being destroyed; attach it again when that is done.", isRetryable: true)
  }

  func remove(_ store: any PersistentStore) {
    state.withLock { _ = $0.attachments.removeValue(forKey: ObjectIdentifier(store)) }
  }

  /// - Throws: ``ErrorCode/storeBusy`` when another coordinator has one of the stores.
  func reserve(_ places: [StorePlace], for coordinator: PersistentStoreCoordinator) throws(CoherenceError) {
    let isFree = state.withLock { state in
      let others = state.attachments.values.filter { $0.coordinator != ObjectIdentifier(coordinator) }
      guard !others.contains(where: { places.contains($0.place) }) else { return false }
      for place in places { state.reserved[place, default: 0] += 1 }
      return true
    }
    guard !isFree else { return }
    throw CoherenceError(
      .storeBusy,
      "A store is attached to another coordinator of this process; detach it there before it is destroyed.")
  }

  func release(_ places: [StorePlace]) {
    state.withLock { state in
      for place in places {
        let count = state.reserved[place, default: 1] - 1
        state.reserved[place] = count > 0 ? count : nil
      }
    }
  }
}

extension PersistentStoreCoordinator {
  /// Works on stores that no other coordinator of this process has, and that none can attach during the work.
  ///
  /// - Throws: ``ErrorCode/storeBusy`` when another coordinator has one of them; nothing is done then. What the block
  ///   throws.
  package func withExclusiveUse<T>(of places: [StorePlace], _ body: () throws -> T) throws -> T {
    try AttachedStores.all.reserve(places, for: self)
    defer { AttachedStores.all.release(places) }
    return try body()
  }
}
