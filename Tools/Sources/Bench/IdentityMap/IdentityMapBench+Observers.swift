import CoherenceIdentityMap
import Synchronization

extension IdentityMapBench {
  private static let ours = "Coherence"

  func sharedLeaf() -> Measure {
    let (aggregates, updates) = (2000, 50)
    return Measure(
      name: "identity-map-shared", title: "update of an entity in 2,000 aggregates of an observed list",
      items: updates, item: "update",
      sides: [
        Side(name: Self.ours, role: .ours) {
          let store = EntityStore(delivery: .immediate)
          let reviews = (0..<aggregates).map { Review(id: $0, text: "Review \($0)", track: Track(1)) }
          let calls = Counter()
          let subscription = store.store(entities: reviews).observe { list in
            calls.add(list[0].track.plays == list[aggregates - 1].track.plays ? 1 : 1_000_000)
          }
          let sample = Stopwatch.sample {
            for _ in 0..<updates { store.update(Track.self, id: 1) { $0.plays += 1 } }
            return (0, subscription)
          }
          guard calls.value == updates + 1 else { throw BenchError("An observer was not told once for each update.") }
          return sample
        }
      ], goals: [.each(of: Self.ours, atMost: 200e-6)])
  }

  func delivery() -> Measure {
    let (observers, updates) = (1000, 200)
    return Measure(
      name: "identity-map-delivery", title: "1,000 observers of one entity", items: observers * updates,
      item: "delivery",
      sides: [
        Side(name: Self.ours, role: .ours) {
          let store = EntityStore(delivery: .immediate)
          let track = store.store(entity: Track(1))
          let calls = Counter()
          let subscriptions = (0..<observers).map { _ in track.observe { calls.add($0.plays > 0 ? 1 : 0) } }
          let sample = Stopwatch.sample {
            for _ in 0..<updates { store.update(Track.self, id: 1) { $0.plays += 1 } }
            return (0, subscriptions)
          }
          guard calls.value == observers * updates else { throw BenchError("Deliveries are missing.") }
          return sample
        }
      ], goals: [.each(of: Self.ours, atMost: 60e-9)])
  }

  func transaction() -> Measure {
    let (each, one, careful) = (
      "Coherence, one by one", "Coherence, in one transaction", "Coherence, in one that may throw"
    )
    return Measure(
      name: "identity-map-transaction", title: "10,000 stores", items: Self.stores, item: "store",
      sides: [
        Side(name: each, role: .ours) {
          let (store, kept) = filledStore()
          return Stopwatch.sample {
            storeAnew(in: store)
            return (0, kept)
          }
        },
        Side(name: one, role: .ours) {
          try inOneTransaction { store in store.transaction { storeAnew(in: $0) } }
        },
        Side(name: careful, role: .ours) {
          try inOneTransaction { store in
            try store.transaction { store in
              storeAnew(in: store)
              try Task.checkCancellation()
            }
          }
        },
      ], goals: [.between(one, and: each, atMost: 1.2), .between(careful, and: each, atMost: 1.2)])
  }

  private static let stores = 10_000

  private func storeAnew(in store: EntityStore) {
    for id in 0..<Self.stores { _ = store.store(entity: Track(id, plays: 1)) }
  }

  private func inOneTransaction(_ work: (EntityStore) throws -> Void) throws -> Sample {
    let (store, kept) = filledStore()
    let calls = Counter()
    let subscription = kept[0].observe { _ in calls.add(1) }
    let sample = try Stopwatch.sample {
      try work(store)
      return (0, (kept, subscription))
    }
    guard calls.value == 2 else { throw BenchError("An observer was not told once of a transaction.") }
    return sample
  }
}

/// Counts from any thread.
private final class Counter: Sendable {
  private let count = Atomic<Int>(0)

  var value: Int { count.load(ordering: .relaxed) }

  func add(_ amount: Int) {
    count.wrappingAdd(amount, ordering: .relaxed)
  }
}
