import Coherence

extension Workbench {
  /// `object(with:)` of registered objects, in an order that misses the processor's caches, and of a few in turn.
  func lookupMeasure() -> Measure {
    let lookups = 1_000_000
    let all = "Coherence, all registered in random order"
    return Measure(
      name: "lookup", title: "object(with:) of a registered object", items: lookups, item: "lookup",
      sides: [
        Side(name: "Swift dictionary, random order", role: .raw) { self.dictionaryLookup(lookups) },
        Side(name: all, role: .ours) { try self.objectLookup(lookups, among: self.people.count) },
        Side(name: "Coherence, 1,000 of them", role: .ours) { try self.objectLookup(lookups, among: 1000) },
      ],
      goals: [.each(of: all, atMost: 150e-9)])
  }

  private final class Box {}

  private func dictionaryLookup(_ count: Int) -> Sample {
    let registry = Dictionary(uniqueKeysWithValues: people.map { ($0.id, Box()) })
    let ids = shuffledIndexes(people.count).map { people[$0].id }
    return Stopwatch.sample {
      var sum: UInt = 0
      for index in 0..<count {
        guard let box = registry[ids[index % ids.count]] else { continue }
        sum &+= UInt(bitPattern: ObjectIdentifier(box))
      }
      return (0, (registry, sum))
    }
  }

  private func objectLookup(_ count: Int, among limit: Int) throws -> Sample {
    let library = try objectLibrary()
    let ids = shuffledIndexes(limit, among: people.count).map { library.ids[$0] }
    return try ObjectStore.once(ObjectStore(file: library.file)) { context in
      let people = try context.fetchPeople()
      return withExtendedLifetime(people) {
        Stopwatch.sample {
          var sum: UInt = 0
          for index in 0..<count {
            sum &+= UInt(bitPattern: ObjectIdentifier(context.object(with: ids[index % ids.count])))
          }
          return (0, sum)
        }
      }
    }
  }
}
