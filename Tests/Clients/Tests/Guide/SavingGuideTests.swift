import Coherence
import Testing

@Suite("The article about saving")
struct SavingGuideTests {
  @Test func `a validation error lists every failure and a rollback drops the changes`() async throws {
    let container = try Catalogue.container()
    defer { withExtendedLifetime(container) {} }
    let (names, hasChanges) = try await container.performBackgroundTask { context in
      var names: [String] = []
      try Artist(context: context).name = ""
      do {
        try context.save()
      } catch let error as CoherenceError where error.code == .validationFailed {
        names = error.failures.map { "\($0.entityName).\($0.propertyName)" }  // ["Artist.name"]
        context.rollback()
      }
      return (names, context.hasChanges)
    }
    #expect(names == ["Artist.name"] && !hasChanges)
  }

  @Test func `a change on outdated values is a conflict`() async throws {
    let container = try await Catalogue.filledContainer()
    defer { withExtendedLifetime(container) {} }
    let (mine, theirs) = (container.newBackgroundContext(), container.newBackgroundContext())
    let first = FetchRequest(Album.self).sort(\.title).limit(1)
    let titles = try mine.performAndWait {
      let album = try #require(try mine.fetch(first).first)
      try theirs.performAndWait {
        try theirs.fetch(first)[0].title = "Theirs"
        try theirs.save()
      }
      var titles: [String?] = []
      album.title = "Mine"
      do {
        try mine.save()
      } catch let error as CoherenceError where error.code == .versionConflict {
        let slot = try #require(album.entity.attribute(named: "title")).slot
        for conflict in error.conflicts {
          // The state that both started from, the state to be saved, and the state in the store.
          titles += [conflict.ancestor, conflict.mine, conflict.store].map { row in
            if case .string(let title)? = row?[slot] { title } else { nil }
          }
        }
        mine.mergePolicy = .objectTrumps
        try mine.save()
      }
      return titles + [album.title]
    }
    #expect(titles == ["Miss Perfumado", "Mine", "Theirs", "Mine"])
  }

  @Test func `a custom policy chooses the values`() async throws {
    let container = try await Catalogue.filledContainer()
    defer { withExtendedLifetime(container) {} }
    let context = container.newBackgroundContext()
    context.mergePolicy = .custom { conflict in
      conflict.store?.values  // without a row in the store the changes are given up
    }
    let first = FetchRequest(Album.self).sort(\.title).limit(1)
    try await context.perform {
      let album = try #require(try context.fetch(first).first)
      let other = container.newBackgroundContext()
      try other.performAndWait {
        try other.fetch(first)[0].title = "Theirs"
        try other.save()
      }
      album.title = "Mine"
      try context.save()
      #expect(album.title == "Theirs")
    }
  }

  @Test func `an error says whether the change was applied and whether to try again`() {
    let error = CoherenceError(.connectionLost, "The connection broke.", outcome: .unknown, isRetryable: true)
    switch error.outcome {
    case .applied: break  // The store has the change.
    case .notApplied where error.isRetryable: break  // The same call may succeed now.
    case .notApplied: break  // The cause has to be removed first.
    case .unknown: break  // Read the records before anything is sent again.
    }
    #expect(error.outcome == .unknown && ErrorCode.connectionLost ~= error)
  }

  @Test func `a code is matched in a catch clause`() async throws {
    let container = try await Catalogue.filledContainer()
    defer { withExtendedLifetime(container) {} }
    let context = container.newBackgroundContext()
    var isTaken = false
    try context.performAndWait {
      try Artist(context: context).name = "Nina Simone"
      do {
        try context.save()
      } catch ErrorCode.uniquenessViolated {
        isTaken = true
      }
    }
    #expect(isTaken)
  }
}
