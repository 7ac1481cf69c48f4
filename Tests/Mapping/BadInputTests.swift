import CoherenceCore
import CoherenceMapping
import CoherenceStrategies
import Foundation
import Testing
import TestSupport

@Suite("Bad input")
struct BadInputTests {
  private func code(_ body: () throws -> Void) -> ErrorCode? {
    let error = #expect(throws: CoherenceError.self) { try body() }
    // The message is a sentence without values of records.
    #expect(error?.message.contains(" ") == true && error?.description.contains("secret") == false)
    return error?.code
  }

  // MARK: Uids

  @Test(arguments: Backend.available)
  func `a save of two models with one uid throws if duplicates are refused`(backend: Backend) throws {
    let stack = try MappingStack(backend)
    let models: [GroceryProduct] = [.banana, .mango, .banana]
    let refused = code {
      try stack.manager.save(
        entity: GroceryRecord.self, models: models, shouldOverwrite: true, duplicates: .refused)
    }
    #expect(refused == .duplicateUid)
    #expect(try stack.products() == [])
  }

  @Test(arguments: Backend.available)
  func `a save throws for a uid that its attribute cannot hold`(backend: Backend) throws {
    let stack = try MappingStack(backend)
    try stack.insert(GroceryRecord.self, [.banana])
    let wrong = GroceryProduct(id: "secret\0", name: "Wrong")
    let saved = code {
      try stack.manager.save(entity: GroceryRecord.self, models: [.lime, wrong], shouldOverwrite: true)
    }
    let fetched = code { _ = try stack.manager.fetchModels(entity: GroceryRecord.self, uids: ["secret\0"]) }
    let deleted = code { try stack.manager.delete(entity: GroceryRecord.self, uids: ["secret\0"]) }
    #expect([saved, fetched, deleted].allSatisfy { $0 == .invalidUid })
    #expect(try stack.products() == [.banana])
  }

  @Test(arguments: Backend.available)
  func `a model without a uid is refused, and a record without a uid matches no model`(backend: Backend) throws {
    struct Draft: Codable, Sendable, Hashable {
      var id: String?
      var text: String
    }
    let drafts = Mapping<Draft>("Draft", uid: \.id) {
      Field("id", \.id)
      Field("text", \.text)
    }
    let stack = try MappingStack(backend, model: ManagedObjectModel { drafts })
    try stack.work { context in
      for _ in 0..<2 {
        try context.insertNewObject(forEntityName: "Draft").setValue("without", for: "text")
      }
      try context.save()
    }
    let saved = code {
      try stack.manager.save(drafts, models: [Draft(id: nil, text: "secret")], shouldOverwrite: false)
    }
    #expect(saved == .invalidUid)
    let one = Draft(id: "1", text: "with")
    #expect(try stack.manager.save(drafts, models: [one], shouldOverwrite: false).inserted == 1)
    #expect(try stack.manager.count(drafts) == 3)
    #expect(try stack.manager.save(drafts, models: [one], shouldOverwrite: true).deleted == 2)
    #expect(try stack.manager.fetchModels(drafts) == [one])
  }

  @Test(arguments: Backend.available)
  func `unknown uids are skipped, and uids of a wrong type are refused`(backend: Backend) throws {
    let stack = try Person.stack(backend)
    #expect(try stack.manager.fetchModel(Person.mapping, uid: 99) == nil)
    #expect(code { _ = try stack.manager.fetchModel(Person.mapping, uid: "secret") } == .invalidUid)
    #expect(code { try stack.manager.delete(Person.mapping, uids: [1.5]) } == .invalidUid)
  }

  // MARK: Models and records that do not fit

  @Test func `a save throws if fromModel assigns another uid than the model's`() throws {
    let stack = try MappingStack()
    try stack.insert(GroceryRecord.self, [.banana])
    let saved = GroceryRecord.$onFromModel.withValue({ $0.id = "other" }) {
      code { try stack.manager.save(entity: GroceryRecord.self, models: [.mango], shouldOverwrite: true) }
    }
    #expect(saved == .modelDoesNotFit)
    #expect(try stack.products() == [.banana])
  }

  @Test func `an error of fromModel is thrown unchanged, and nothing is saved`() throws {
    struct Refusal: Error {}
    let stack = try MappingStack()
    try stack.insert(GroceryRecord.self, [.banana])
    #expect(throws: Refusal.self) {
      try GroceryRecord.$onFromModel.withValue({ if $0.name == "Mango" { throw Refusal() } }) {
        try stack.manager.save(entity: GroceryRecord.self, models: [.lime, .mango], shouldOverwrite: true)
      }
    }
    #expect(try stack.products() == [.banana])
  }

  @Test(arguments: Backend.available)
  func `a save throws for a value that its attribute cannot hold, and nothing is saved`(backend: Backend) throws {
    struct Reading: Codable, Sendable, Hashable {
      var id: Int
      var value: Double
      var note: String
      var rank: Int
    }
    let readings = Mapping<Reading>("Reading", uid: \.id) {
      Field("id", \.id)
      Field("value", \.value)
      Field("note", \.note)
      Field("rank", \.rank)
    }
    let model = try ManagedObjectModel {
      Entity("Reading") {
        Attribute("id", .int64)
        Attribute("value", .double)
        Attribute("note", .string, validation: [.maximumLength(4)])
        Attribute("rank", .int16)
      }
    }
    let stack = try MappingStack(backend, model: model)
    let good = Reading(id: 1, value: 1, note: "good", rank: 1)
    try stack.manager.save(readings, models: [good], shouldOverwrite: true)
    let wrong = [
      Reading(id: 2, value: .nan, note: "a", rank: 1), Reading(id: 2, value: 1, note: "a\0", rank: 1),
      Reading(id: 2, value: 1, note: "a", rank: 70_000), Reading(id: 1, value: .nan, note: "a", rank: 1),
    ]
    for model in wrong {
      #expect(code { try stack.manager.save(readings, models: [model], shouldOverwrite: true) } == .modelDoesNotFit)
    }
    let long = Reading(id: 2, value: 1, note: "secret", rank: 1)
    #expect(code { try stack.manager.save(readings, models: [long], shouldOverwrite: true) } == .validationFailed)
    #expect(try stack.manager.fetchModels(readings) == [good])
  }

  @Test(arguments: Backend.available, [0, 2, 45])
  func `a fetch throws for a record whose decoding fails`(backend: Backend, place: Int) throws {
    struct Loose: Codable, Sendable, Hashable {
      var id: Int
      var text: String?
      var kind: String?
    }
    enum Kind: String, Codable, Sendable, CaseIterable, AttributeConvertible { case a, b }
    struct Strict: Codable, Sendable, Hashable {
      var text: String
      var id: Int
      var kind: Kind
    }
    let loose = Mapping<Loose>("Loose", uid: \.id) {
      Field("id", \.id)
      Field("text", \.text)
      Field("kind", \.kind)
    }
    let strict = Mapping<Strict>("Loose", uid: \.id) {
      Field("id", \.id)
      Field("text", \.text)
      Field("kind", \.kind)
    }
    let stack = try MappingStack(backend, model: ManagedObjectModel { loose })
    let good = (0..<50).map { Loose(id: $0, text: "text that is long enough \($0)", kind: "a") }
    for change in [{ $0.text = nil }, { $0.kind = "secret" }] as [(inout Loose) -> Void] {
      var models = good
      change(&models[place])
      try stack.manager.save(loose, models: models, shouldOverwrite: true)
      #expect(code { _ = try stack.manager.fetchModels(strict) } == .modelDoesNotFit)
    }
    try stack.manager.save(loose, models: good, shouldOverwrite: true)
    #expect(try stack.manager.fetchModels(strict).map(\.id) == Array(0..<50))
  }

  @Test func `errors of misfits name a remedy`() throws {
    struct Partial: Codable, Sendable {
      var id: Int
      var extra: Int
      var limits: [Double]?
    }
    let partial = Mapping<Partial>("Person", uid: \.id) { Field("id", \.id) }
    let stack = try Person.stack(.inMemory)
    func message(_ body: () throws -> Void) -> String {
      #expect(throws: CoherenceError.self, performing: body)?.message ?? ""
    }
    #expect(message { _ = try stack.manager.fetchModels(partial) }.contains("decodes 'extra'; give a field that"))
    #expect(
      message { _ = try stack.manager.count(partial, where: partial[\.extra] > 1) }.contains(
        "has no field in the mapping"))
    let limited = Mapping<Partial>("Limited", uid: \.id) {
      Field("id", \.id)
      Field("limits", json: \.limits)
    }
    let other = try MappingStack(model: ManagedObjectModel { limited })
    let unbounded = Partial(id: 1, extra: 1, limits: [.infinity])
    #expect(
      message { try other.manager.save(limited, models: [unbounded], shouldOverwrite: false) }.contains("finite"))
  }

  @Test func `the error of a JSON field names the field, and no key of the stored value`() throws {
    struct Texts: Codable, Sendable {
      var id: Int
      var counts: [String: String]
    }
    struct Numbers: Codable, Sendable {
      var id: Int
      var counts: [String: Int]
    }
    let texts = Mapping<Texts>("Visitors", uid: \.id) {
      Field("id", \.id)
      Field("counts", json: \.counts)
    }
    let numbers = Mapping<Numbers>("Visitors", uid: \.id) {
      Field("id", \.id)
      Field("counts", json: \.counts)
    }
    let stack = try MappingStack(model: ManagedObjectModel { texts })
    let model = Texts(id: 1, counts: ["ann@example.org": "many"])
    try stack.manager.save(texts, models: [model], shouldOverwrite: true)
    let error = #expect(throws: CoherenceError.self) { try stack.manager.fetchModels(numbers) }
    #expect(error?.code == .modelDoesNotFit && error?.message.contains("'counts'") == true)
    #expect(error?.description.contains("ann") == false)
  }

  @Test func `a mapping that does not fit its entity is refused with all of its faults`() throws {
    let stack = try Person.stack(.inMemory)
    let wrong = Mapping<Person>("Person", uid: \.id) {
      Field("id", \.id)
      Field("title", \.name)
      Field("name", \.age)
      Field("age", \.age)
      Field("age", \.age)
    }
    let error = #expect(throws: CoherenceError.self) { try stack.manager.fetchModels(wrong) }
    #expect(error?.code == .modelDoesNotFit)
    for fault in ["no attribute 'title'", "'name' is a int64", "Several fields have the name 'age'"] {
      #expect(error?.message.contains(fault) == true)
    }
    let unkeyed = Mapping<Person>("Person", uid: \.age) { Field("id", \.id) }
    #expect(code { _ = try stack.manager.count(unkeyed) } == .modelDoesNotFit)
    let unknown = Mapping<Person>("Nobody", uid: \.id) { Field("id", \.id) }
    #expect(code { _ = try stack.manager.fetchModels(unknown) } == .unknownEntity)
    #expect(code { _ = try stack.manager.fetchModels(unkeyed, where: nil) } == .modelDoesNotFit)
    let partial = Mapping<Person>("Person", uid: \.id) {
      Field("id", \.id)
      Field("name", \.name)
    }
    // The type's own decoding requires a key without a field.
    #expect(code { _ = try stack.manager.fetchModels(partial) } == .modelDoesNotFit)
    #expect(code { _ = try stack.manager.fetchModels(partial, where: partial[\.age] > 1) } == .invalidPredicate)
  }

  @Test func `a record class that does not fit its entity is refused`() throws {
    let model = try ManagedObjectModel {
      Entity("GroceryRecord") { Attribute("uid", .string) }
      Entity("FruitRecord", class: FruitRecord.self) {
        Attribute("name", .string)
        Relationship("id", toOne: "GroceryRecord", inverse: nil)
      }
    }
    let stack = try MappingStack(model: model)
    #expect(code { _ = try stack.manager.fetchModels(entity: GroceryRecord.self) } == .unknownProperty)
    #expect(code { _ = try stack.manager.fetchModels(entity: FruitRecord.self) } == .modelDoesNotFit)
    let bare = try MappingStack(model: ManagedObjectModel { Entity("Other") })
    #expect(code { _ = try bare.manager.fetchModels(entity: GroceryRecord.self) } == .unknownEntity)
    let classless = try MappingStack(model: ManagedObjectModel { Entity("GroceryRecord") { Attribute("id", .string) } })
    #expect(code { _ = try classless.manager.fetchModels(entity: GroceryRecord.self) } == .invalidFetchRequest)
    let saved = code {
      try classless.manager.save(entity: GroceryRecord.self, models: [.lime], shouldOverwrite: false)
    }
    #expect(saved == .invalidFetchRequest)
  }

  @Test func `fetching and saving throw for a record class with other attributes than its entity`() throws {
    func entity(_ change: (inout [Attribute]) -> Void) -> Entity {
      var attributes = [
        Attribute("id", .string), Attribute("name", .string), Attribute("points", .int64, default: 0),
        Attribute("details", .string, optional: true),
      ]
      change(&attributes)
      return Entity("GroceryRecord", class: GroceryRecord.self) { for attribute in attributes { attribute } }
    }
    let misfits = [
      entity { $0.remove(at: 3) }, entity { $0[3] = Attribute("details", .date, optional: true) },
      entity { $0[2] = Attribute("points", .string, default: "none") },
    ]
    for (number, misfit) in misfits.enumerated() {
      let stack = try MappingStack(model: ManagedObjectModel { misfit })
      let name = number < 2 ? "details" : "points"
      let saved = #expect(throws: CoherenceError.self) {
        try stack.manager.save(entity: GroceryRecord.self, models: [.banana], shouldOverwrite: false)
      }
      #expect(saved?.code == .validationFailed && saved?.message.contains(name) == true)
      let context = stack.manager.workerContext
      try context.performAndWait {
        let record = try context.insertNewObject(forEntityName: "GroceryRecord")
        for key in ["id", "name"] { try record.setValue("1", for: key) }
        if number == 1 { try record.setValue(Date.now, for: name) }
        try context.save()
        let fetched = #expect(throws: CoherenceError.self) {
          try stack.manager.fetchModels(entity: GroceryRecord.self, context: context)
        }
        #expect(fetched?.code == .modelDoesNotFit && fetched?.message.contains(name) == true)
        // The failed fetch does not make the save of the context fail.
        try record.setValue("2", for: "name")
        try context.save()
      }
    }
  }

  // MARK: Wrong states and contexts

  @Test func `methods of a manager throw before its load`() throws {
    let manager = try MappingStack(isLoaded: false).manager
    #expect(code { _ = try manager.fetchModels(entity: GroceryRecord.self) } == .contextWithoutStore)
    #expect(
      code { try manager.save(entity: GroceryRecord.self, models: [], shouldOverwrite: true) } == .contextWithoutStore)
    #expect(code { try manager.clear() } == .contextWithoutStore)
    #expect(code { _ = try manager.manualDeleteAll(entityName: "GroceryRecord", saveEvery: 2) } == .contextWithoutStore)
  }

  @Test func `a context of another manager is refused`() throws {
    let (stack, other) = (try MappingStack(), try MappingStack())
    let context = other.manager.workerContext
    #expect(code { _ = try stack.manager.fetchModels(entity: GroceryRecord.self, context: context) } == .wrongContext)
    let saved = code {
      try stack.manager.save(entity: GroceryRecord.self, models: [.lime], shouldOverwrite: true, context: context)
    }
    #expect(saved == .wrongContext)
    #expect(code { try stack.manager.batchDeleteAll(entity: GroceryRecord.self, context: context) } == .wrongContext)
  }

  @Test(arguments: Backend.available)
  func `a save throws and saves nothing when its store is detached during the save`(
    backend: Backend
  ) throws {
    let stack = try MappingStack(backend)
    try stack.insert(GroceryRecord.self, [.banana, .mango])
    // The variable keeps the content of an in-memory store alive.
    let witness = try stack.makeStranger()
    let container = stack.manager.container
    let saved = GroceryRecord.$onFromModel.withValue({ record in
      guard record.name == "Durian" else { return }
      try container.detach(persistentStores: container.persistentStoreCoordinator.persistentStores)
    }) {
      code {
        try stack.manager.save(entity: GroceryRecord.self, models: [.lime, .durian], shouldOverwrite: true)
      }
    }
    #expect(saved == .contextWithoutStore || saved == .storeDetached)
    #expect(try Set(witness.fetchModels(entity: GroceryRecord.self)) == [.banana, .mango])
    try stack.manager.load()
    #expect(try stack.products() == [.banana, .mango])
  }

  @Test(arguments: Backend.available)
  func `invalid conditions, orders and ranges are refused`(backend: Backend) throws {
    let stack = try MappingStack(backend)
    let nowhere = try FetchPredicate(format: "nowhere == 1")
    #expect(
      code { _ = try stack.manager.fetchModels(entity: GroceryRecord.self, predicate: nowhere) } == .unknownProperty)
    #expect(code { try stack.manager.delete(entity: GroceryRecord.self, predicate: nowhere) } == .unknownProperty)
    let negative = code {
      _ = try stack.manager.fetchModels(entity: GroceryRecord.self, predicate: nil, limit: -1)
    }
    #expect(negative == .invalidFetchRequest)
    #expect(code { try stack.manager.batchDeleteAll(entityName: "Nothing") } == .unknownEntity)
  }
}
