import CoherenceCore
import CoherenceStrategies
import Foundation

/// The stores of a Connect over stop and start.
extension GenericConnect {
  /// Attaches the stores that an earlier stop detached, or the default store when none are known: all of them, or none.
  func attachMissing(_ attachments: inout [StoreAttachment]) throws {
    var wanted = attachments
    if wanted.isEmpty, persistentStoreCoordinator.persistentStores.isEmpty {
      wanted = [StoreAttachment(directory: storeLocation, configuration: StoreConfiguration())]
    }
    var fresh: [any PersistentStore] = []
    do {
      for index in wanted.indices where wanted[index].store == nil {
        let store = try container.attachPersistentStore(
          at: wanted[index].directory, for: wanted[index].configuration)
        wanted[index].store = store
        wanted[index].former = nil
        fresh.append(store)
      }
    } catch {
      for store in fresh.reversed() { try? persistentStoreCoordinator.remove(store) }
      throw error
    }
    attachments = wanted
  }

  /// Detaches every store of the coordinator and remembers it, also stores added without this Connect.
  func detachAll(_ attachments: inout [StoreAttachment]) throws {
    let stores = persistentStoreCoordinator.persistentStores
    attachments.removeAll { known in known.store.map { store in !stores.contains { $0 === store } } == true }
    var failure: (any Error)?
    for store in stores {
      let index = attachments.firstIndex { $0.store === store }
      do {
        try container.detach(persistentStore: store)
      } catch {
        failure = failure ?? error
      }
      let place = index ?? attachments.endIndex
      if index == nil { attachments.append(attachment(of: store)) }
      attachments[place].store = nil
      attachments[place].former = store
    }
    attachments.removeAll { $0.leaving > 0 }
    if let failure { throw failure }
  }

  /// The attachment of a store added without this Connect.
  func attachment(of store: any PersistentStore) -> StoreAttachment {
    let configuration = StoreConfiguration(
      name: store.configurationName, type: store.type, options: store.environment.options, location: store.url)
    return StoreAttachment(directory: storeLocation, configuration: configuration, store: store)
  }
}
