import CoherenceIdentityMap

/// Measures of the identity map, compared with a dictionary behind a lock where possible.
struct IdentityMapBench {
  let count = 100_000

  func measures() -> [Measure] {
    [
      find(), readers(), storeNew(), update(), storeEqual(), storeAggregate(), sharedLeaf(), delivery(), transaction(),
      memory(),
      diamond(), cycle(),
    ]
  }

  /// Indexes in a random order, which a fixed seed repeats in every run.
  func shuffledIndexes(_ count: Int) -> [Int] {
    var random = SplitMix64(seed: 42)
    return Array((0..<self.count).shuffled(using: &random).prefix(count))
  }

  func filledStore() -> (store: EntityStore, kept: [EntityObserver<Track>]) {
    let store = EntityStore(delivery: .immediate)
    return (store, (0..<count).map { store.store(entity: Track($0)) })
  }

  func filledDictionary() -> LockedDictionary {
    let dictionary = LockedDictionary()
    for id in 0..<count { dictionary.store(Track(id)) }
    return dictionary
  }
}
