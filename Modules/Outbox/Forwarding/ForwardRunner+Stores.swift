import CoherenceCore

// Stores that fail: the runner leaves such a store out until the end of a delay, and forwards the other stores' edits.

extension ForwardRunner {
  /// The stores that searches read; `nil` for all stores.
  var searchedStores: Set<StoreIdentifier>? { failedStores.isEmpty ? nil : Set(remainingStores) }

  /// The stores with entries, without the failed ones.
  private var remainingStores: [StoreIdentifier] {
    outbox.coordinator.persistentStores.filter { store in
      store.environment.entities.contains { $0.name == OutboxEntryRecord.entityName }
    }.map(\.identifier).filter { !failedStores.contains($0) }
  }

  /// Whether the store of an entry is left out, because it has failed.
  func isLeftOut(_ entry: ManagedObjectID) -> Bool { entry.storeIdentifier.map(failedStores.contains) ?? false }

  /// Reports the failure of a store, and leaves the store out until the end of a delay.
  ///
  /// - Returns: `false` if no other store remains, so that the caller delays the forwarding as a whole.
  func leaveOut(_ store: StoreIdentifier?, after error: any Error) -> Bool {
    guard let store, remainingStores.contains(where: { $0 != store }) else { return false }
    if failedStores.isEmpty {
      storeFailureCount += 1
      startStoreTimer(options.retry.delay(afterAttempt: storeFailureCount))
    }
    failedStores.insert(store)
    // Requests of the surplus may be of the store.
    surplus = OutboxSurplus()
    forwarding.send(.failed(error))
    return true
  }

  /// Reads the failed stores again.
  func endStoreDelay() { failedStores = [] }

  /// Runs a search. When the search fails, each store is searched by itself, and the stores that fail are left out.
  func run(_ search: ForwardSearch) async throws -> ForwardSearch.Selection {
    do {
      let selection = try await outbox.newContext(in: search.stores).perform { try search.run(in: $0) }
      failureCount = 0
      if failedStores.isEmpty { storeFailureCount = 0 }
      return selection
    } catch {
      guard remainingStores.count > 1 else { throw error }
      return try await runInEachStore(search, after: error)
    }
  }

  /// Searches one store after the other. A search beyond the number of free calls claims one call nevertheless, so that
  /// a store that fails is found.
  ///
  /// - Parameter error: The error of the search of all stores.
  /// - Throws: The error if each store fails.
  private func runInEachStore(
    _ search: ForwardSearch, after error: any Error
  ) async throws -> ForwardSearch.Selection {
    var selection: ForwardSearch.Selection?
    var failures: [(store: StoreIdentifier, error: any Error)] = []
    for store in remainingStores {
      var search = search
      search.stores = [store]
      search.surplus = OutboxSurplus()
      search.freeCalls = max(1, search.freeCalls - (selection?.calls.count ?? 0))
      do {
        let found = try await outbox.newContext(in: [store]).perform { [search] in try search.run(in: $0) }
        if selection == nil { selection = ForwardSearch.Selection() }
        selection?.add(found)
      } catch {
        failures.append((store, error))
      }
      // The probe of an unavailable server is a single request.
      if search.admission == .probe, selection?.calls.isEmpty == false { break }
    }
    guard let selection else { throw error }
    if failures.isEmpty { delay(after: error) } else { failureCount = 0 }
    for failure in failures { _ = leaveOut(failure.store, after: failure.error) }
    return selection
  }
}
