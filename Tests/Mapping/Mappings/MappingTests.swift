import CoherenceCore
import CoherenceMapping
import CoherenceStrategies
import Foundation
import Testing
import TestSupport

@Suite("Mappings of structures")
struct MappingTests {
  @Test(arguments: Backend.available)
  func `a saved structure equals the fetched one, for properties of every type`(backend: Backend) throws {
    let stack = try MappingStack(backend, model: ManagedObjectModel { Everything.mapping })
    let samples = (0..<20).map(Everything.sample)
    let saved = try stack.manager.save(Everything.mapping, models: samples, shouldOverwrite: false)
    #expect(saved.inserted == 20)
    #expect(try stack.manager.fetchModels(Everything.mapping) == samples)
    #expect(try stack.manager.fetchModel(Everything.mapping, uid: samples[7].id) == samples[7])
    let again = try stack.manager.save(Everything.mapping, models: samples, shouldOverwrite: true)
    #expect(again.unchanged == 20 && again.updated == 0)
  }

  private struct Measurement: Codable, Sendable, Hashable {
    var id: Int
    var first = 0.0
    var second = 0.0
    var third: Double?
    var note: String?

    /// The fields by loops and conditions.
    static func mapping(hasThird: Bool) -> Mapping<Measurement> {
      Mapping<Measurement>("Measurement", uid: \.id) {
        Field("id", \.id)
        for (name, path) in [("first", \Measurement.first), ("second", \Measurement.second)] { Field(name, path) }
        if hasThird { Field("third", \.third) }
        if hasThird { Field("note", \.note) } else { Field("remark", \.note, codingKey: "note") }
      }
    }
  }

  @Test(arguments: Backend.available, [true, false])
  func `a mapping has the fields of the loops and conditions in its block`(backend: Backend, hasThird: Bool) throws {
    let mapping = Measurement.mapping(hasThird: hasThird)
    let stack = try MappingStack(backend, model: ManagedObjectModel { mapping })
    let model = Measurement(id: 1, first: 1.5, second: 2.5, third: hasThird ? 3.5 : nil, note: "n")
    try stack.manager.save(mapping, models: [model], shouldOverwrite: false)
    #expect(try stack.manager.fetchModels(mapping) == [model])
  }

  @Test(arguments: Backend.available)
  func `models are fetched and counted by condition, and fetched by order and range`(backend: Backend) throws {
    let people = Person.mapping
    let stack = try Person.stack(backend)
    let adults = people[\.age] >= 18
    let found = try stack.manager.fetchModels(
      people, where: adults, sort: [people.order(\.age, ascending: false)], limit: 2, offset: 1)
    #expect(found.map(\.name) == ["Ada", "Bea"])
    #expect(try stack.manager.count(people, where: adults) == 3 && stack.manager.count(people) == 4)
    #expect(try stack.manager.fetchModels(people, where: people[\.nickname].isNil && adults).map(\.id) == [1, 2])
    let named = try stack.manager.fetchModels(people, where: people[\.name].hasPrefix("D"))
    #expect(named == [Person(id: 4, name: "Dan", age: 90, nickname: "D")])
  }

  @Test(arguments: Backend.available)
  func `models without a value come first or last as the order says`(backend: Backend) throws {
    let people = Person.mapping
    let stack = try Person.stack(backend)
    let last = [people.order(\.nickname, missingValues: .last), people.order(\.name)]
    #expect(try stack.manager.fetchModels(people, sort: last).map(\.name) == ["Dan", "Ada", "Bea", "Cid"])
    let first = [people.order(\.nickname, ascending: false, missingValues: .first), people.order(\.name)]
    #expect(try stack.manager.fetchModels(people, sort: first).map(\.name) == ["Ada", "Bea", "Cid", "Dan"])
  }

  @Test(arguments: Backend.available)
  func `models are fetched and deleted by uid`(backend: Backend) throws {
    let people = Person.mapping
    let stack = try Person.stack(backend)
    #expect(try stack.manager.fetchModels(people, uids: [4, 1, 1, 9]).map(\.name) == ["Ada", "Dan"])
    #expect(try stack.manager.fetchModels(people, uids: [Int]()) == [])
    #expect(try stack.manager.fetchModel(people, uid: 9) == nil)
    #expect(try stack.manager.delete(people, uids: [1, 9]) == 1)
    #expect(try stack.manager.deleteModels(people, models: [Person(id: 2, name: "", age: 0)]) == 1)
    #expect(try stack.manager.delete(people, where: people[\.age] > 80) == 1)
    #expect(try stack.manager.fetchModels(people).map(\.name) == ["Cid"])
    #expect(try stack.manager.delete(people, where: nil) == 1)
  }

  @Test(arguments: Backend.available, [true, false])
  func `a save writes the records that differ and no others`(backend: Backend, shouldOverwrite: Bool) throws {
    let people = Person.mapping
    let stack = try MappingStack(backend, model: ManagedObjectModel { people })
    var models = (0..<2_000).map { Person(id: $0, name: "Person \($0)", age: $0 % 100) }
    #expect(
      try stack.manager.save(people, models: models, shouldOverwrite: shouldOverwrite).inserted == models.count)
    let before = try stack.versions(of: "Person")
    for place in stride(from: 3, to: models.count, by: 100) { models[place].nickname = "changed" }
    models.append(Person(id: 5_000, name: "New", age: 1))
    let log = OperationLog()
    stack.manager.container.persistentStoreCoordinator.observer = log
    let result = try stack.manager.save(people, models: models, shouldOverwrite: shouldOverwrite)
    #expect(result.updated == 20 && result.inserted == 1 && result.unchanged == 1_980 && result.deleted == 0)
    #expect(log.records("updated", of: .save) == [20] && log.records("inserted", of: .save) == [1])
    let after = try stack.versions(of: "Person")
    #expect(before.count { after[$0.key] != $0.value } == 20 && after.count == 2_001)
    #expect(try stack.manager.fetchModels(people) == models)
  }

  private enum Colour: String, Codable, CaseIterable {
    case red, green, blue, black, white, grey, brown, pink
  }

  /// A model with values whose elements have no order.
  private struct Palette: Codable, Sendable, Equatable {
    let id: Int
    var tags: Set<String>?
    var counts: [Colour: Int]

    static let mapping = Mapping<Palette>("Palette", uid: \.id) {
      Field("id", \.id)
      Field("tags", json: \.tags)
      Field("counts", json: \.counts)
    }
  }

  @Test(arguments: Backend.available)
  func `a save writes no record whose set or dictionary is equal in another order`(backend: Backend) throws {
    let stack = try MappingStack(backend, model: ManagedObjectModel { Palette.mapping })
    let tags = Set((0..<100).map { "tag \($0)" })
    let counts = Dictionary(uniqueKeysWithValues: Colour.allCases.map { ($0, $0.rawValue.count) })
    var (otherTags, otherCounts) = (Set<String>(minimumCapacity: 5_000), [Colour: Int](minimumCapacity: 5_000))
    otherTags.formUnion(tags)
    otherCounts.merge(counts) { $1 }
    #expect(Array(otherTags) != Array(tags))
    let palette = Palette(id: 1, tags: tags, counts: counts)
    try stack.manager.save(Palette.mapping, models: [palette], shouldOverwrite: false)
    let other = Palette(id: 1, tags: otherTags, counts: otherCounts)
    let again = try stack.manager.save(Palette.mapping, models: [other], shouldOverwrite: false)
    #expect(again.unchanged == 1 && again.updated == 0)
    #expect(try stack.manager.fetchModels(Palette.mapping) == [palette])
    otherTags.remove("tag 7")
    let changed = Palette(id: 1, tags: otherTags, counts: otherCounts)
    #expect(try stack.manager.save(Palette.mapping, models: [changed], shouldOverwrite: false).updated == 1)
    #expect(try stack.manager.fetchModels(Palette.mapping) == [changed])
  }

  @Test(arguments: Backend.available)
  func `only an overwriting save deletes records without a model`(
    backend: Backend
  ) throws {
    let people = Person.mapping
    let stack = try Person.stack(backend)
    let eve = Person(id: 5, name: "Eve", age: 20)
    #expect(try stack.manager.save(people, models: [eve], shouldOverwrite: false).inserted == 1)
    #expect(try stack.manager.count(people) == 5)
    let result = try stack.manager.save(people, models: [eve], shouldOverwrite: true)
    #expect(result.deleted == 4 && result.unchanged == 1)
    #expect(try stack.manager.fetchModels(people) == [eve])
    #expect(try stack.manager.save(people, models: [], shouldOverwrite: true).deleted == 1)
  }

  @Test(arguments: Backend.available, [true, false])
  func `models with one uid become one record, and stored records with one uid are reduced to one`(
    backend: Backend, shouldOverwrite: Bool
  ) throws {
    let people = Person.mapping
    // An entity without a uniqueness constraint on its uid.
    var entity = people.entity
    entity.uniqueness = []
    let stack = try MappingStack(backend, model: ManagedObjectModel { entity })
    for name in ["oldest", "middle", "youngest"] {
      try stack.work { context in
        let record = try context.insertNewObject(forEntityName: "Person")
        try record.setValue(1, for: "id")
        try record.setValue(name, for: "name")
        try record.setValue(1, for: "age")
        try context.save()
      }
    }
    let oldest = try #require(stack.versions(of: "Person").keys.min { $0.key < $1.key })
    let models = [
      Person(id: 1, name: "first", age: 1), Person(id: 2, name: "b", age: 2), Person(id: 1, name: "last", age: 1),
    ]
    let result = try stack.manager.save(people, models: models, shouldOverwrite: shouldOverwrite)
    #expect(result.skipped == 1 && result.updated == 1 && result.inserted == 1 && result.deleted == 2)
    #expect(result.unchanged == 0)
    #expect(try stack.manager.fetchModels(people).map(\.name) == ["last", "b"])
    #expect(try stack.versions(of: "Person").keys.contains(oldest))
    try stack.manager.save(people, models: models, shouldOverwrite: shouldOverwrite, duplicates: .firstWins)
    #expect(try stack.manager.fetchModel(people, uid: 1)?.name == "first")
  }

  @Test func `a context's unsaved changes are fetched, and overwritten by a save`() throws {
    let people = Person.mapping
    let stack = try Person.stack(.sqlite)
    let context = stack.manager.workerContext
    try context.performAndWait {
      let records = try context.fetch(FetchRequest<ManagedObject>(entityName: "Person").sort("id"))
      try records[0].setValue("Edited", for: "name")
      context.delete(records[1])
      let names = try stack.manager.fetchModels(people, sort: [people.order(\.id)], context: context).map(\.name)
      #expect(names == ["Edited", "Cid", "Dan"])
      let ada = Person(id: 1, name: "Ada", age: 36)
      try stack.manager.save(people, models: [ada], shouldOverwrite: false, context: context)
    }
    #expect(try stack.manager.fetchModels(people).map(\.name) == ["Ada", "Cid", "Dan"])
  }

  @Test func `two mappings work in one transaction`() throws {
    let stack = try Person.stack(.inMemory)
    let people = Person.mapping
    struct Abandoned: Error {}
    #expect(throws: Abandoned.self) {
      try stack.manager.transaction { transaction in
        try transaction.save(people, models: [], shouldOverwrite: true)
        #expect(try transaction.count(people) == 0)
        throw Abandoned()
      }
    }
    #expect(try stack.manager.count(people) == 4)
    try stack.manager.transaction { transaction in
      try transaction.delete(people, uids: [1])
      try transaction.deleteModels(people, models: [Person(id: 2, name: "", age: 0)])
      try transaction.delete(people, where: people[\.age] > 80)
      #expect(try transaction.fetchModels(people, uids: [1, 2, 3]).map(\.id) == [3])
    }
    #expect(try stack.manager.fetchModels(people).map(\.id) == [3])
  }

  @Test(arguments: Backend.available)
  func `the asynchronous forms of a mapping's methods have the same effect`(backend: Backend) async throws {
    let people = Person.mapping
    let stack = try inline { try Person.stack(backend) }
    // The directory is deleted with the stack.
    defer { withExtendedLifetime(stack) {} }
    let manager = stack.manager
    let eve = Person(id: 5, name: "Eve", age: 20)
    try await manager.save(people, models: [eve], shouldOverwrite: false)
    #expect(try await manager.fetchModel(people, uid: 5) == eve)
    #expect(try await manager.fetchModels(people, uids: [5, 6]) == [eve])
    #expect(try await manager.fetchModels(people, where: people[\.age] == 20) == [eve])
    #expect(try await manager.delete(people, uids: [5]) == 1)
    #expect(try await manager.deleteModels(people, models: [Person(id: 4, name: "", age: 0)]) == 1)
    #expect(try await manager.delete(people, where: people[\.age] < 18) == 1)
    #expect(try await manager.count(people) == 2)
  }
}
