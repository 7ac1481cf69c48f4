import Coherence
import Foundation

extension Workbench {
  /// The cost of following a result of 10,000 records: the time from the return of a save that moves ten of them to the
  /// difference with its indexes, beside a fetch of all identifiers, and the cost of the result for an unrelated save.
  func liveResultMeasure() -> Measure {
    let alone = "unrelated save, no live result"
    let watched = "unrelated save, live result"
    let difference = "difference of a related save"
    let refetch = "fetch of all identifiers"
    return Measure(
      name: "live-result", title: "Ten records move in a live result of 10,000", items: Self.saves, item: "save",
      sides: [
        Side(name: difference, role: .ours) { try self.liveResult().difference },
        Side(name: refetch, role: .ours) { try self.liveResult().refetch },
        Side(name: alone, role: .ours) { try self.liveResult(isWatched: false).unrelated },
        Side(name: watched, role: .ours) { try self.liveResult().unrelated },
      ],
      goals: [
        .each(of: difference, atMost: 500e-6), .between(difference, and: refetch, atMost: 0.2),
        .between(watched, and: alone, atMost: 1.15),
      ])
  }

  private static let saves = 50
  private static let moved = 10

  /// The view uses the main queue, which this thread blocks. Changes therefore wait until the next `perform` of the
  /// view.
  private func liveResult(isWatched: Bool = true) throws -> (difference: Sample, refetch: Sample, unrelated: Sample) {
    let library = try objectLibrary()
    // The store sorts texts by their bytes too.
    let uuids = people.map(\.uuid).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    let last = uuids[min(10_000, uuids.count / 2) - 1]
    return try scratch.with(copyOf: library.file) { file in
      let store = try ObjectStore(file: file, synchronous: "off")
      let view = ManagedObjectContext(concurrencyType: .mainQueue, coordinator: store.coordinator)
      let background = store.makeContext()
      view.follow(background)
      let isListed = { (id: ManagedObjectID, index: Int) in self.people[index].uuid <= last }
      let listed = zip(library.ids, people.indices).filter(isListed).map(\.0).prefix(Self.moved)
      let others = zip(library.ids, people.indices).filter { !isListed($0, $1) }.map(\.0).prefix(Self.moved)
      let request = FetchRequest(PersonObject.self).filter(try FetchPredicate(format: "uuid <= %@", last)).sort("age")
      let counter = DifferenceCounter()
      let controller = FetchedResultsController(fetchRequest: request, managedObjectContext: view)
      if isWatched { try view.performAndWait { try controller.performFetch() } }
      controller.delegate = counter
      var times = (difference: 0.0, refetch: 0.0, unrelated: 0.0)
      for round in 1...Self.saves {
        times.unrelated += try save(Array(others), in: background) { $0.score = Double(round) }
        view.performAndWait {}
        _ = try save(Array(listed), in: background) { $0.age = (round * 7) % 100 }
        times.difference += Stopwatch.seconds { view.performAndWait {} }
        times.refetch += try Stopwatch.seconds { _ = try view.performAndWait { try view.fetchIDs(request) } }
      }
      if isWatched, counter.count != Self.saves { throw BenchError("A save of listed records made no difference.") }
      try store.close()
      return (
        Sample(amount: times.difference), Sample(amount: times.refetch), Sample(amount: times.unrelated)
      )
    }
  }

  private func save(
    _ ids: [ManagedObjectID], in background: ManagedObjectContext, _ change: (PersonObject) -> Void
  ) throws -> Double {
    try background.performAndWait {
      for person in try background.people(with: ids) { change(person) }
      return try Stopwatch.seconds { try background.save() }
    }
  }
}

/// Counts the differences that a controller reports.
private final class DifferenceCounter: FetchedResultsControllerDelegate {
  private(set) var count = 0

  func controller(_ controller: FetchedResultsController<PersonObject>, didChange changes: ResultChanges<PersonObject>)
  {
    count += 1
  }
}
