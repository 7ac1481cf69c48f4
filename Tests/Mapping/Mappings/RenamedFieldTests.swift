import CoherenceCore
import CoherenceMapping
import Foundation
import Logging
import Testing
import TestSupport

@Suite("Fields with new names or types in later versions")
struct RenamedFieldTests {
  private struct First: Codable, Sendable, Hashable {
    var id: Int
    var name: String?
    var tags: [String]
    static let mapping = Mapping<First>("Member", uid: \.id) {
      Field("id", \.id)
      Field("name", \.name)
      Field("tags", json: \.tags)
    }
  }

  private struct Second: Codable, Sendable, Hashable {
    var id: Int
    var label: String?
    var tags: [String]
    static let mapping = Mapping<Second>("Member", uid: \.id) {
      Field("id", \.id)
      Field("label", \.label, renamedFrom: "name")
      Field("tags", json: \.tags)
    }
  }

  private struct Third: Codable, Sendable, Hashable {
    var id: Int
    var fullName: String?
    var topics: [String]
    static let mapping = Mapping<Third>("Participant", renamedFrom: "Member", uid: \.id) {
      Field("id", \.id)
      Field("fullName", \.fullName, renamedFrom: "label", "name")
      Field("topics", json: \.topics, renamedFrom: "tags")
    }
  }

  @Test(arguments: Backend.availableSQL, [true, false])
  func `a renamed field keeps the values of all earlier versions of the program`(
    backend: Backend, metSecond: Bool
  ) throws {
    let store = EvolvingStore(backend)
    try store.run(ManagedObjectModel { First.mapping }) { manager in
      let models = [First(id: 1, name: "Ada", tags: ["a"]), First(id: 2, name: nil, tags: [])]
      try manager.save(First.mapping, models: models, shouldOverwrite: true)
    }
    if metSecond {
      try store.run(ManagedObjectModel { Second.mapping }) { manager in
        let stored = try manager.fetchModel(Second.mapping, uid: 1)
        #expect(stored == Second(id: 1, label: "Ada", tags: ["a"]))
      }
    }
    try store.run(ManagedObjectModel { Third.mapping }) { manager in
      let stored = try manager.fetchModels(Third.mapping, sort: [Third.mapping.order(\.id)])
      #expect(stored == [Third(id: 1, fullName: "Ada", topics: ["a"]), Third(id: 2, fullName: nil, topics: [])])
      try manager.save(
        Third.mapping, models: [Third(id: 2, fullName: "Bea", topics: ["b"])], shouldOverwrite: false)
    }
    // A program of the first version still uses the store.
    try store.run(ManagedObjectModel { First.mapping }) { manager in
      let stored = try manager.fetchModel(First.mapping, uid: 2)
      #expect(stored == First(id: 2, name: "Bea", tags: ["b"]))
    }
    try store.run(ManagedObjectModel { Second.mapping }) { manager in
      let stored = try manager.fetchModels(Second.mapping)
      #expect(stored.compactMap(\.label).sorted() == ["Ada", "Bea"])
    }
  }

  private struct Careless: Codable, Sendable, Hashable {
    var id: Int
    var title: String?
    static func mapping(renamedFrom: String?) -> Mapping<Careless> {
      Mapping<Careless>("Member", uid: \.id) {
        Field("id", \.id)
        if let renamedFrom { Field("title", \.title, renamedFrom: renamedFrom) } else { Field("title", \.title) }
      }
    }
  }

  @Test(arguments: Backend.availableSQL)
  func `a rename without the former name is logged with the number of values, and can be declared later`(
    backend: Backend
  ) throws {
    let store = EvolvingStore(backend)
    try store.run(ManagedObjectModel { First.mapping }) { manager in
      let models = (1...3).map { First(id: $0, name: $0 == 3 ? nil : "name \($0)", tags: []) }
      try manager.save(First.mapping, models: models, shouldOverwrite: true)
    }
    let (careless, mended) = (Careless.mapping(renamedFrom: nil), Careless.mapping(renamedFrom: "name"))
    let refusing: [String: OptionValue] = [StoreOption.refusesSuspectedRenames: true]
    let error = #expect(throws: CoherenceError.self) {
      try store.run(ManagedObjectModel { careless }, options: refusing) { _ in }
    }
    #expect(error?.code == .incompatibleModel && error?.message.contains("2 values") == true)
    let titles = try store.run(ManagedObjectModel { careless }) { manager in
      try manager.fetchModels(careless).compactMap(\.title)
    }
    let warning = store.log.texts(.warning).first { $0.contains("may miss stored values") }
    for word in ["Member.title", "Member.name", "2 values", "formerNames"] {
      #expect(warning?.contains(word) == true, "\(word)")
    }
    #expect(titles.isEmpty && warning?.contains("name 1") == false)
    let found = try store.run(ManagedObjectModel { mended }) { manager in
      try manager.fetchModels(mended).compactMap(\.title).sorted()
    }
    #expect(found == ["name 1", "name 2"])
  }

  @Test(arguments: Backend.availableSQL)
  func `a former name declared after the new name has values is logged with their number`(backend: Backend) throws {
    let store = EvolvingStore(backend)
    try store.run(ManagedObjectModel { First.mapping }) { manager in
      let models = (1...2).map { First(id: $0, name: "name \($0)", tags: []) }
      try manager.save(First.mapping, models: models, shouldOverwrite: true)
    }
    let (careless, mended) = (Careless.mapping(renamedFrom: nil), Careless.mapping(renamedFrom: "name"))
    try store.run(ManagedObjectModel { careless }) { manager in
      _ = try manager.save(careless, models: [Careless(id: 9, title: "own")], shouldOverwrite: true)
    }
    let titles = try store.run(ManagedObjectModel { mended }) { manager in
      try manager.fetchModels(mended).compactMap(\.title)
    }
    #expect(titles == ["own"])
    let warning = store.log.texts(.warning).first { $0.contains("has values of its own") }
    for word in ["Member.title", "name", "(1)"] { #expect(warning?.contains(word) == true, "\(word)") }
  }

  private struct Counted: Codable, Sendable, Hashable {
    var id: Int64
    var count: Decimal?
    var name: Int?
    static let mapping = Mapping<Counted>("Tally", uid: \.id) {
      Field("id", \.id)
      Field("count", \.count)
      Field(
        "name", \.name,
        converting: { old in
          guard case .string(let text) = old else { return nil }
          return text.count
        })
    }
  }

  private struct Small: Codable, Sendable, Hashable {
    var id: Int16
    var count: Int32?
    var name: String?
    static let mapping = Mapping<Small>("Tally", uid: \.id) {
      Field("id", \.id)
      Field("count", \.count)
      Field("name", \.name)
    }
  }

  @Test(arguments: Backend.availableSQL)
  func `a field with a wider type or a conversion keeps its values`(backend: Backend) throws {
    let store = EvolvingStore(backend)
    try store.run(ManagedObjectModel { Small.mapping }) { manager in
      let models = [Small(id: 1, count: .max, name: "abc"), Small(id: 2, count: nil, name: nil)]
      try manager.save(Small.mapping, models: models, shouldOverwrite: true)
    }
    let expected = [Counted(id: 1, count: Decimal(Int32.max), name: 3), Counted(id: 2, count: nil, name: nil)]
    for _ in 0..<2 {
      let found = try store.run(ManagedObjectModel { Counted.mapping }) { manager in
        try manager.fetchModels(Counted.mapping, sort: [Counted.mapping.order(\.id)])
      }
      #expect(found == expected)
    }
    let error = #expect(throws: CoherenceError.self) { try store.run(ManagedObjectModel { Small.mapping }) { _ in } }
    #expect(error?.code == .incompatibleModel)
  }

  @Test func `a former name that the entity still uses, or that two fields declare, is refused`() {
    let claimed = Mapping<Second>("Member", uid: \.id) {
      Field("id", \.id)
      Field("label", \.label, renamedFrom: "id")
    }
    let claimedTwice = Mapping<Second>("Member", uid: \.id) {
      Field("id", \.id, renamedFrom: "x", "key")
      Field("label", \.label, renamedFrom: "y", "key")
    }
    for mapping in [claimed, claimedTwice] {
      let error = #expect(throws: CoherenceError.self) { try ManagedObjectModel { mapping } }
      #expect(error?.code == .invalidModel && error?.message.contains("renamed from") == true)
    }
  }
}
