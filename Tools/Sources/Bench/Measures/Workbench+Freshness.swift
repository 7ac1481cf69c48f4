import Coherence
import Foundation

extension Workbench {
  /// The cost of showing a background save in a view, with ten thousand objects in memory: the time from the return of
  /// the save to the changed values, and the cost of the view for the save itself.
  func freshnessMeasure() -> Measure {
    let alone = "save that nobody follows"
    let followed = "save that a view follows"
    return Measure(
      name: "freshness", title: "Ten saved changes reach a view that holds 10,000", items: Self.rounds, item: "save",
      sides: [
        Side(name: "view shows the save", role: .ours) { try self.freshness().shown },
        Side(name: alone, role: .ours) { try self.freshness(isFollowed: false).saved },
        Side(name: followed, role: .ours) { try self.freshness().saved },
      ],
      goals: [.each(of: "view shows the save", atMost: 200e-6), .between(followed, and: alone, atMost: 1.25)])
  }

  private static let rounds = 100
  private static let changes = 10
  private static let held = 10_000

  /// The view uses the main queue, which this thread blocks. Changes therefore wait in the view's inbox until its next
  /// `perform`.
  private func freshness(isFollowed: Bool = true) throws -> (shown: Sample, saved: Sample) {
    let library = try objectLibrary()
    return try scratch.with(copyOf: library.file) { file in
      let store = try ObjectStore(file: file, synchronous: "off")
      let view = ManagedObjectContext(concurrencyType: .mainQueue, coordinator: store.coordinator)
      let background = store.makeContext()
      if isFollowed { view.follow(background) }
      let held = try view.fetchPeople(limit: Self.held)
      let ids = shuffledIndexes(Self.changes, among: held.count).map { library.ids[$0] }
      let watched = try view.people(with: ids)
      var times = (shown: 0.0, saved: 0.0)
      for round in 1...Self.rounds {
        times.saved += try save(age: round, of: ids, in: background)
        times.shown += try Stopwatch.seconds {
          let isShown = view.performAndWait { watched.allSatisfy { $0.age == round } }
          if isFollowed, !isShown { throw BenchError("The view does not show what was saved.") }
        }
      }
      withExtendedLifetime(held) {}
      try store.close()
      return (Sample(amount: times.shown), Sample(amount: times.saved))
    }
  }

  private func save(age: Int, of ids: [ManagedObjectID], in background: ManagedObjectContext) throws -> Double {
    try background.performAndWait {
      for person in try background.people(with: ids) { person.age = age }
      return try Stopwatch.seconds { try background.save() }
    }
  }
}
