import Coherence
import Testing

final class AuditTrail: SaveParticipant {
  func observes(_ entity: EntityDescription) -> Bool { entity.name == "Account" }

  func participate(in save: inout SaveParticipation) throws {
    let entry = try save.model.entity(named: "Entry")
    guard let text = entry.attribute(named: "text") else { return }
    for change in save.changes {
      let names = change.changedProperties.map(\.name).joined(separator: ", ")
      var values = entry.defaultValues
      values[text.slot] = .string("\(change.kind): \(names)")
      try save.insert(entry, values)
    }
  }
}

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

  @Test func `work that lost a race begins again`() async throws {
    let container = try await Catalogue.filledContainer()
    defer { withExtendedLifetime(container) {} }
    let id = try await container.performBackgroundTask { context in
      try #require(try context.fetch(FetchRequest(Album.self).sort(\.title).limit(1)).first).objectID
    }
    try await container.performBackgroundTask(retrying: .lostRaces) { context, attempt in
      let album = try context.existingObject(with: id, as: Album.self)
      album.title += attempt == 1 ? "!" : "?"
    }
    let title = try await container.performBackgroundTask { try $0.existingObject(with: id, as: Album.self).title }
    #expect(title == "Miss Perfumado!")
  }

  @Test func `a lock keeps other writers of a record waiting`() async throws {
    let container = try await Catalogue.filledContainer()
    defer { withExtendedLifetime(container) {} }
    let year = try await container.performBackgroundTask { context in
      let album = try Album(context: context)
      album.title = "Silk & Soul"
      try context.save()
      try context.withLock(on: [album], timeout: .seconds(5)) {
        guard album.year == nil else { return }  // Another writer was faster.
        album.year = 1967
        try context.save()
      }
      return album.year
    }
    #expect(year == 1967)
  }

  @Test func `an inserted record with a stored unique value becomes the stored record`() async throws {
    let container = try await Catalogue.filledContainer()
    defer { withExtendedLifetime(container) {} }
    let context = container.newBackgroundContext()
    try await context.perform {
      context.mergePolicy = .objectTrumps
      let nina = try Artist(context: context)
      nina.name = "Nina Simone"  // another writer has saved this artist
      let album = try Album(context: context)
      album.title = "Little Girl Blue"
      album.artist = nina
      try context.save()
      let country = nina.country  // "United States", which the other writer has set
      #expect(country == "United States")
      #expect(nina.albums.count == 3)
      #expect(try context.count(for: FetchRequest(Artist.self)) == 2)
    }
  }

  @Test func `rules decide about properties`() async throws {
    let container = try await Catalogue.filledContainer()
    defer { withExtendedLifetime(container) {} }
    let context = container.newBackgroundContext()
    context.mergePolicy = .byProperty(
      [
        .rule(\Album.year, .smaller),
        .rule(\Album.title, .merging { base, mine, stored in stored == base ? mine : "\(stored) / \(mine)" }),
        .rule("country", of: "Artist", .store),
      ], otherwise: .objectTrumps)
    let first = FetchRequest(Album.self).sort(\.title).limit(1)
    try await context.perform {
      let album = try #require(try context.fetch(first).first)
      let other = container.newBackgroundContext()
      try other.performAndWait {
        let album = try other.fetch(first)[0]
        (album.title, album.year) = ("Theirs", 1990)
        try other.save()
      }
      (album.title, album.year) = ("Mine", 1991)
      try context.save()
      #expect(album.title == "Theirs / Mine" && album.year == 1990)
    }
  }

  @Test func `a participant adds records to a save`() throws {
    let model = try ManagedObjectModel {
      Entity("Account") {
        Attribute("name", .string)
        Attribute("balance", .int64, default: 0)
      }
      Entity("Entry") { Attribute("text", .string) }
    }
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(type: .inMemory)
    coordinator.addSaveParticipant(AuditTrail())
    let context = ManagedObjectContext(coordinator: coordinator)
    let texts = try context.performAndWait {
      let account = try context.insertNewObject(forEntityName: "Account")
      try account.setValue("Ada", for: "name")
      try context.save()
      try account.setValue(10, for: "balance")
      try context.save()
      let entries = try context.fetch(FetchRequest<ManagedObject>(entityName: "Entry"))
      return try entries.map { try $0.value(for: "text", as: String.self) }
    }
    #expect(texts == ["inserted: name, balance", "updated: balance"])
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
