import CoherenceActions
import CoherenceCore
import Testing

@MainActor
@Suite("Merging objects")
struct ActionContextMergeTests {
  private let stack: ConnectStack
  private let entity: EntityDescription

  init() throws {
    stack = try ConnectStack.started()
    entity = try stack.entity("ConnectEntity1")
  }

  private func objects(_ ids: some Sequence<Int64>, _ string: String) -> [ConnectEntity1] {
    ids.map { ConnectEntity1.make($0, string) }
  }

  @discardableResult
  private func merge(
    _ objects: [ConnectEntity1], ignoreAttributes: [String] = [], subsetFilter: FetchPredicate? = nil,
    condition: FetchPredicate = .constant(true), options: MergeOptions = .replaceAll
  ) throws -> MergeResult {
    try stack.inActionContext {
      try $0.merge(
        objects: objects, for: entity, ignoreAttributes: ignoreAttributes, subsetFilter: subsetFilter,
        condition: condition, options: options)
    }
  }

  private func string(_ comparison: ComparisonOperator, _ value: String) -> FetchPredicate {
    .comparison(.path(PropertyPath("stringAttribute")), comparison, .value(.string(value)))
  }

  @Test func `a merge of an unmanaged entity throws`() throws {
    let unmanaged = try stack.entity("ConnectEntity3Unmanaged")
    #expect {
      try stack.inActionContext { try $0.merge(objects: [ConnectEntity3Unmanaged](), for: unmanaged) }
    } throws: { error in
      ErrorCode.unmanagedEntity ~= error
        && "\(error)".contains("Entity 'ConnectEntity3Unmanaged' not managed, cannot merge objects.")
    }
  }

  @Test(arguments: [false, true])
  func `objects without a stored record are inserted, in any order, and the view shows them`(reversed: Bool) throws {
    let input = objects(1...10, "Insert")
    let result = try merge(reversed ? input.reversed() : input)
    #expect(result.counts == MergeResult.with(inserted: 10))
    let shown = try stack.connect.viewContext.fetch(FetchRequest(ConnectEntity1.self))
    #expect(Set(shown.map(\.id)) == Set(1...10))
    #expect(shown.allSatisfy { $0.string == "Insert" })
  }

  @Test func `objects with a stored record update it, and the view shows the change`() throws {
    try merge(objects(1...10, "Insert"))
    let shown = try stack.connect.viewContext.fetch(FetchRequest(ConnectEntity1.self))
    #expect(shown.count == 10 && shown.allSatisfy { $0.string == "Insert" })
    #expect(try merge(objects(1...10, "Update")).counts == MergeResult.with(updated: 10))
    let again = try stack.connect.viewContext.fetch(FetchRequest(ConnectEntity1.self))
    #expect(Set(again) == Set(shown))
    #expect(shown.allSatisfy { $0.string == "Update" })
  }

  @Test func `records whose key no object has are deleted`() throws {
    try merge(objects(1...10, "Insert"))
    #expect(try merge([]).counts == MergeResult.with(deleted: 10))
    #expect(try stack.connect.viewContext.count(for: FetchRequest(ConnectEntity1.self)) == 0)
  }

  @Test func `a merge of objects without options replaces all records, as in Coherence 5`() throws {
    try merge(objects(1...10, "Insert"))
    let some = try stack.inActionContext { try $0.merge(objects: objects(1...2, "Insert"), for: entity) }
    #expect(some.counts == MergeResult.with(unchanged: 2, deleted: 8))
    let none = try stack.inActionContext { try $0.merge(objects: [ConnectEntity1](), for: entity) }
    #expect(none.counts == MergeResult.with(deleted: 2))
  }

  @Test func `one merge inserts, updates and deletes`() throws {
    try merge(objects(1...6, "Insert"))
    let result = try merge(objects(1...2, "Insert") + objects(3...4, "Update") + objects(9...10, "Insert"))
    #expect(result.counts == MergeResult.with(inserted: 2, updated: 2, unchanged: 2, deleted: 2))
    #expect(
      try stack.strings() == [1: "Insert", 2: "Insert", 3: "Update", 4: "Update", 9: "Insert", 10: "Insert"])
  }

  @Test func `a second merge of the same objects writes nothing`() throws {
    try merge(objects(1...10, "Insert"))
    let versions = try stack.read { try $0.fetch(FetchRequest(ConnectEntity1.self)).map(\.version) }
    #expect(try merge(objects((1...10).reversed(), "Insert")).counts == MergeResult.with(unchanged: 10))
    #expect(try stack.read { try $0.fetch(FetchRequest(ConnectEntity1.self)).map(\.version) } == versions)
  }

  @Test func `an unchanged property does not overwrite a value that another writer saves during the merge`() throws {
    try merge(objects(1...1, "Insert"))
    try stack.inActionContext { context in
      let held = try #require(try context.fetch(FetchRequest(ConnectEntity1.self)).first)
      let binary = held.binary
      let other = stack.connect.newBackgroundContext()
      try other.performAndWait {
        try #require(try other.fetch(FetchRequest(ConnectEntity1.self)).first).bool = true
        try other.save()
      }
      let input = ConnectEntity1.make(1, "Update")
      #expect(input.binary == binary)
      try context.merge(objects: [input], for: entity, ignoreAttributes: ["boolAttribute"])
      #expect(context.statistics.updates == 1)
    }
    try stack.read { context in
      let object = try #require(try context.fetch(FetchRequest(ConnectEntity1.self)).first)
      #expect(object.string == "Update" && object.bool == true)
    }
  }

  @Test func `the mode upsertOnly deletes nothing`() throws {
    try merge(objects(1...5, "Insert"))
    let result = try merge(objects(4...7, "Update"), options: MergeOptions(mode: .upsertOnly))
    #expect(result.counts == MergeResult.with(inserted: 2, updated: 2))
    #expect(try stack.strings().count == 7)
  }

  @Test func `ignored attributes are kept in existing records, and set in new ones`() throws {
    try merge(objects(1...1, "Insert"))
    try merge(objects(1...2, "Update"), ignoreAttributes: ["stringAttribute"])
    #expect(try stack.strings() == [1: "Insert", 2: "Update"])
  }

  @Test func `the filter limits deletion but not matching`() throws {
    try merge(objects(1...3, "Mine") + objects(4...6, "Others"))
    let result = try merge(objects(1...1, "Mine") + objects(4...4, "Mine"), subsetFilter: string(.equal, "Mine"))
    #expect(result.counts == MergeResult.with(updated: 1, unchanged: 1, deleted: 2))
    #expect(try stack.strings() == [1: "Mine", 4: "Mine", 5: "Others", 6: "Others"])
  }

  @Test func `records that do not satisfy the condition are neither changed nor deleted`() throws {
    try merge(objects(1...2, "Dirty") + objects(3...4, "Clean"))
    let result = try merge(
      objects([1, 3], "Update") + objects([9], "Dirty"), condition: string(.notEqual, "Dirty"))
    #expect(result.counts == MergeResult.with(inserted: 1, updated: 1, deleted: 1, skipped: 2))
    #expect(try stack.strings() == [1: "Dirty", 2: "Dirty", 3: "Update", 9: "Dirty"])
  }

  @Test func `two objects with one key are refused, or one of them wins, by the options`() throws {
    var twice: [ConnectEntity1] { objects(1...1, "first") + objects(1...1, "last") }
    #expect { try merge(twice) } throws: { ErrorCode.invalidMergeKey ~= $0 }
    #expect(try stack.strings().isEmpty)
    #expect(
      try merge(twice, options: MergeOptions(duplicates: .firstWins)).counts
        == MergeResult.with(inserted: 1, skipped: 1))
    #expect(try stack.strings() == [1: "first"])
    #expect(
      try merge(twice, options: MergeOptions(duplicates: .lastWins)).counts == MergeResult.with(updated: 1, skipped: 1))
    #expect(try stack.strings() == [1: "last"])
  }

  @Test func `an object of a released context is refused`() throws {
    let used = objects(1...2, "Insert")
    try merge(used)
    #expect { try merge(used) } throws: { ErrorCode.wrongContext ~= $0 }
  }

  @Test func `an object with a context is refused`() throws {
    try stack.inActionContext { context in
      let object = ConnectEntity1.make(1, "one")
      context.insert(object)
      #expect { try context.merge(objects: [object], for: entity) } throws: { ErrorCode.wrongContext ~= $0 }
    }
  }

  @Test func `a merge that fails to save leaves the context and the store unchanged`() throws {
    try merge(objects(1...3, "Insert"))
    let incomplete = ConnectEntity1.make(4, "")
    try incomplete.setValue(nil, for: "stringAttribute")
    try stack.inActionContext { context in
      #expect { try context.merge(objects: [incomplete] + objects(1...1, "Update"), for: entity) } throws: {
        ErrorCode.validationFailed ~= $0
      }
      #expect(!context.hasChanges)
    }
    #expect(try stack.strings() == [1: "Insert", 2: "Insert", 3: "Insert"])
  }

  @Test func `a cancelled action merges nothing`() async throws {
    let script = MockScript(waits: true)
    let proxy = try stack.connect.execute(
      ClosureAction(ConnectEntity1.self) { [entity] context in
        try script.run()
        try context.performAndWait {
          _ = try context.merge(objects: [ConnectEntity1.make(1, "one")], for: entity)
        }
      })
    await script.untilBegun()
    proxy.cancel()
    script.release()
    try await proxy.waitUntilFinished()
    #expect(proxy.completionStatus == .canceled)
    #expect(proxy.error.map { ErrorCode.cancelled ~= $0 } == true)
    #expect(try stack.strings().isEmpty)
  }

  @Test func `strings are matched by their bytes, regardless of collations`() throws {
    let model = try ManagedObjectModel {
      Entity("Word", userInfo: ["uniquenessAttributes": "text"]) { Attribute("text", .string) }
    }
    let stack = try ConnectStack.started(model)
    let words = ["a", "B", "Z", "z", "ä", "a\u{308}", "é", "_", "10", "9", "", "ß", "ss", "😀"]
    let word = try stack.entity("Word")
    func merge(_ words: [String]) throws -> MergeResult {
      try stack.inActionContext {
        try $0.merge(records: words.map { MergeRecord(["text": $0]) }, for: word, options: .replaceAll)
      }
    }
    #expect(try merge(words).counts == MergeResult.with(inserted: words.count))
    #expect(try merge(words.shuffled()).counts == MergeResult.with(unchanged: words.count))
    #expect(try merge(Array(words.dropLast())).counts == MergeResult.with(unchanged: words.count - 1, deleted: 1))
  }
}
