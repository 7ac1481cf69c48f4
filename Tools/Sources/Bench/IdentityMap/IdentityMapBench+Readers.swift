import CoherenceIdentityMap
import Dispatch

extension IdentityMapBench {
  /// The same number of searches by one thread and by many: more threads should not take longer together.
  func readers() -> Measure {
    let (one, many) = ("Coherence, 1 task", "Coherence, 64 tasks")
    return Measure(
      name: "identity-map-readers", title: "find of a retained entity by 1 and by 64 tasks, in random order",
      items: count, item: "find",
      sides: [
        Side(name: "Dictionary behind a Mutex, 64 tasks", role: .raw) {
          let dictionary = filledDictionary()
          return sample(tasks: 64, keeping: dictionary) { dictionary.find($0)?.id ?? 0 }
        },
        readers(one, tasks: 1), readers(many, tasks: 64),
      ], goals: [.between(many, and: one, atMost: 1.1)])
  }

  private func readers(_ name: String, tasks: Int) -> Side {
    Side(name: name, role: .ours) {
      let (store, kept) = filledStore()
      return sample(tasks: tasks, keeping: kept) { store.find(Track.self, id: $0)?.value.id ?? 0 }
    }
  }

  /// Looks all entities up in a number of tasks, each with its share of the entities.
  private func sample<Kept>(tasks: Int, keeping kept: Kept, find: @Sendable (Int) -> Int) -> Sample {
    let ids = shuffledIndexes(count)
    return Stopwatch.sample {
      DispatchQueue.concurrentPerform(iterations: tasks) { task in
        var sum = 0
        for index in stride(from: task, to: ids.count, by: tasks) { sum &+= find(ids[index]) }
        precondition(sum >= 0, "The searches are not left out.")
      }
      return (0, kept)
    }
  }
}
