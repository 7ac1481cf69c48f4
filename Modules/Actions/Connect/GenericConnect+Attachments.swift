import CoherenceCore
import CoherenceStrategies
import Foundation

/// Attaching at a start and detaching at a stop.
extension GenericConnect {
  /// Attaches the stores that an earlier stop detached, or the default store when the Connect has neither an attachment
  /// nor a store. When one store fails, none is attached.
  func attachMissing(_ attachments: inout [StoreAttachment]) throws {
    var wanted = attachments
    if wanted.isEmpty, persistentStoreCoordinator.persistentStores.isEmpty {
      wanted = [StoreAttachment(directory: storeLocation, configuration: StoreConfiguration())]
    }
    var attached: [any PersistentStore] = []
    do {
      // A store that a call of `detach` is about to remove stays closed.
      for index in wanted.indices where wanted[index].store == nil && wanted[index].pendingDetachCount == 0 {
        let store = try container.attachPersistentStore(
          at: wanted[index].directory, for: wanted[index].configuration)
        wanted[index].store = store
        wanted[index].detachedStore = nil
        attached.append(store)
      }
    } catch {
      for store in attached.reversed() { try? persistentStoreCoordinator.remove(store) }
      throw error
    }
    attachments = wanted
  }

  /// Detaches every store of the coordinator, also stores added to the coordinator directly.
  ///
  /// - Parameter attachments: Receives the attachment of each detached store, so that a later start can attach it again.
  /// - Throws: ``ErrorCode/storeDetached`` when another caller removes one of the stores from the coordinator at the
  ///   same time. The other stores are closed nevertheless.
  func detachAll(_ attachments: inout [StoreAttachment]) throws {
    let stores = persistentStoreCoordinator.persistentStores
    // A store removed from the coordinator directly is not attached again.
    attachments.removeAll { attachment in
      attachment.store.map { store in !stores.contains { $0 === store } } == true
    }
    var failure: (any Error)?
    for store in stores {
      let index = attachments.firstIndex { $0.store === store }
      do {
        try container.detach(persistentStore: store)
      } catch {
        failure = failure ?? error
      }
      let position = index ?? attachments.endIndex
      if index == nil { attachments.append(attachment(of: store)) }
      attachments[position].noteStop(of: store)
    }
    // A caller of `detach` still waits for these stores; a start must not attach them again.
    attachments.removeAll { $0.pendingDetachCount > 0 }
    if let failure { throw failure }
  }

  /// Removes the attachments of stores that were removed from the coordinator directly. Otherwise a Connect that attaches
  /// a store for each user would retain the closed stores until its stop. A store that is being detached stays.
  func removeAttachmentsOfRemovedStores(_ attachments: inout [StoreAttachment]) {
    let present = Set(persistentStoreCoordinator.persistentStores.map { ObjectIdentifier($0) })
    attachments.removeAll { attachment in
      guard let store = attachment.store, attachment.pendingDetachCount == 0 else { return false }
      return !present.contains(ObjectIdentifier(store))
    }
  }

  /// Makes the attachment of a store added to the coordinator directly, without the Connect.
  func attachment(of store: any PersistentStore) -> StoreAttachment {
    let configuration = StoreConfiguration(
      name: store.configurationName, type: store.type, options: store.environment.options, location: store.url)
    return StoreAttachment(directory: storeLocation, configuration: configuration, store: store)
  }
}
