import CoherenceCore
import CoherenceMapping
import TestSupport
import Testing

/// The statements of a mapping's fetches and saves, with 1,000 records in a SQLite store.
@Suite("Statements of mappings")
struct MappingStatementTests {
  private let store = EvolvingStore(.sqlite)
  private let people = Person.mapping
  private let models = (0..<1_000).map { Person(id: $0, name: "Person \($0)", age: $0 % 100) }

  /// Saves the models, and passes the manager of a log without their statements.
  private func withSavedModels(_ body: (PersistenceManager) throws -> Void) throws {
    try store.run(ManagedObjectModel { people }) { manager in
      try manager.save(people, models: models, shouldOverwrite: true)
      store.log.removeAll()
      try body(manager)
    }
  }

  @Test func `a fetch of 1,000 models sends one statement`() throws {
    try withSavedModels { manager in
      let fetched = try manager.fetchModels(people)
      #expect(fetched == models)
      #expect(store.log.reads.count == 1, "\(store.log.reads)")
      #expect(store.log.runs == [])
    }
  }

  @Test func `a save of 1,000 new models inserts 32 rows with each run of a statement`() throws {
    try store.run(ManagedObjectModel { people }) { manager in
      store.log.removeAll()
      let result = try manager.save(people, models: models, shouldOverwrite: true)
      #expect(result.inserted == 1_000)
      #expect(store.log.runs == [StatementRun("INSERT", 31), StatementRun("INSERT", 8)])
    }
  }

  @Test func `an overwriting save of 1,000 equal models reads once and writes nothing`() throws {
    try withSavedModels { manager in
      let result = try manager.save(people, models: models, shouldOverwrite: true)
      #expect(result.unchanged == 1_000)
      #expect(store.log.reads.count == 1, "\(store.log.reads)")
      #expect(store.log.runs == [])
    }
  }

  @Test func `an overwriting save of 1,000 models with ten changes reads once and runs ten updates`() throws {
    try withSavedModels { manager in
      var changed = models
      for index in stride(from: 0, to: changed.count, by: 100) { changed[index].name = "changed" }
      let result = try manager.save(people, models: changed, shouldOverwrite: true)
      #expect(result.updated == 10)
      #expect(store.log.reads.count == 1, "\(store.log.reads)")
      #expect(store.log.runs == [StatementRun("UPDATE", 10)])
    }
  }
}
