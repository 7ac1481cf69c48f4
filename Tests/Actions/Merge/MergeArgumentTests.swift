import CoherenceActions
import CoherenceCore
import Testing
import TestSupport

/// Every form of input has a function of its own, and each function has to hand on each argument.
@Suite("Arguments of merges in every form")
struct MergeArgumentTests {
  enum Form: CaseIterable {
    case records, dictionaries, values, objects, pages, pagesOfValues
  }

  private struct Artist: Decodable, Sendable {
    var id: Int32?
    var name = "new"
    var note = "new"
    var revision = 10
  }

  private struct Arguments {
    var ignored: [String] = []
    var filter: FetchPredicate?
    var condition = FetchPredicate.constant(true)
    var options = MergeOptions()
  }

  /// Merges artists of the given keys in one array or page.
  private func merge(_ ids: [Int32?], as form: Form, into stack: MergeStack, _ arguments: Arguments) async throws
    -> MergeResult
  {
    let context = stack.connect.newActionContext()
    let entity = try stack.entity("Artist")
    let (ignored, filter, condition, options) = (
      arguments.ignored, arguments.filter, arguments.condition, arguments.options
    )
    let values = ids.map { Artist(id: $0) }
    let dictionaries = values.map(dictionary)
    switch form {
    case .records:
      return try context.merge(
        records: dictionaries.map { MergeRecord($0) }, for: entity, ignoreAttributes: ignored, subsetFilter: filter,
        condition: condition, options: options)
    case .dictionaries:
      return try context.merge(
        records: dictionaries, for: entity, ignoreAttributes: ignored, subsetFilter: filter, condition: condition,
        options: options)
    case .values:
      return try context.merge(
        records: values, for: entity, ignoreAttributes: ignored, subsetFilter: filter, condition: condition,
        options: options)
    case .objects:
      return try context.merge(
        objects: try dictionaries.map { try object($0, entity) }, for: entity, ignoreAttributes: ignored,
        subsetFilter: filter, condition: condition, options: options)
    case .pages:
      return try await context.mergePages(
        page(dictionaries.map { MergeRecord($0) }), for: entity, ignoreAttributes: ignored, subsetFilter: filter,
        condition: condition, options: options)
    case .pagesOfValues:
      return try await context.mergePages(
        page(values), for: entity, ignoreAttributes: ignored, subsetFilter: filter, condition: condition,
        options: options)
    }
  }

  private func dictionary(_ artist: Artist) -> [String: any AttributeConvertible] {
    ["id": artist.id, "name": artist.name, "note": artist.note, "revision": artist.revision]
  }

  private func object(_ values: [String: any AttributeConvertible], _ entity: EntityDescription) throws
    -> ManagedObject
  {
    let object = MergedArtist(entity: entity, insertInto: nil)
    for (name, value) in values { try object.setValue(value, for: name) }
    return object
  }

  private func page<Record: Sendable>(_ records: [Record]) -> AsyncStream<[Record]> {
    AsyncStream { continuation in
      continuation.yield(records)
      continuation.finish()
    }
  }

  /// Artists 1 to 4, whose revision is their key.
  private func makeStack(_ backend: Backend) throws -> MergeStack {
    let stack = try MergeStack(backend)
    let records = (1...4).map { MergeRecord(["id": $0, "name": "old", "note": "old", "revision": $0]) }
    try stack.merge(records, into: "Artist")
    return stack
  }

  private func notes(_ stack: MergeStack) throws -> [Int32: String] {
    try stack.values(of: "Artist", "note", by: "id")
  }

  @Test(arguments: Backend.available, Form.allCases)
  func `attributes that a merge ignores keep their values in every form of input`(backend: Backend, form: Form)
    async throws
  {
    let stack = try makeStack(backend)
    let result = try await merge([1, 2], as: form, into: stack, Arguments(ignored: ["note"]))
    #expect(result.counts == MergeResult.with(updated: 2))
    #expect(try stack.names() == [1: "new", 2: "new", 3: "old", 4: "old"])
    #expect(try notes(stack) == [1: "old", 2: "old", 3: "old", 4: "old"])
  }

  @Test(arguments: Backend.available, Form.allCases)
  func `a condition protects records in every form of input`(backend: Backend, form: Form) async throws {
    let stack = try makeStack(backend)
    let condition = try FetchPredicate(format: "existing.revision < 2")
    let result = try await merge([1, 2], as: form, into: stack, Arguments(condition: condition))
    #expect(result.counts == MergeResult.with(updated: 1, skipped: 1))
    #expect(try stack.names() == [1: "new", 2: "old", 3: "old", 4: "old"])
  }

  @Test(arguments: Backend.available, Form.allCases)
  func `options say in every form of input whether records are deleted`(backend: Backend, form: Form) async throws {
    let stack = try makeStack(backend)
    let kept = try await merge([1, 2], as: form, into: stack, Arguments(options: MergeOptions(mode: .upsertOnly)))
    #expect(kept.counts == MergeResult.with(updated: 2))
    let replaced = try await merge([1, 2], as: form, into: stack, Arguments(options: .replaceAll))
    #expect(replaced.counts == MergeResult.with(unchanged: 2, deleted: 2))
    #expect(try stack.names() == [1: "new", 2: "new"])
  }

  @Test(arguments: Backend.available, Form.allCases)
  func `a filter limits deletion in every form of input`(backend: Backend, form: Form) async throws {
    let stack = try makeStack(backend)
    let filter = try FetchPredicate(format: "revision == 3")
    let result = try await merge(
      [1, 2], as: form, into: stack, Arguments(filter: filter, options: .replaceAll))
    #expect(result.counts == MergeResult.with(updated: 2, deleted: 1))
    #expect(try stack.names() == [1: "new", 2: "new", 4: "old"])
  }

  @Test(arguments: Backend.available, Form.allCases)
  func `a last record without a key is refused in every form of input and nothing is merged`(
    backend: Backend, form: Form
  ) async throws {
    let stack = try makeStack(backend)
    let error = await #expect(throws: CoherenceError.self) {
      try await merge([1, 2, nil], as: form, into: stack, Arguments())
    }
    #expect(error?.code == .invalidMergeKey)
    #expect(Set(try stack.names().values) == ["old"])
  }

  @Test(arguments: Backend.available, Form.allCases)
  func `a last record with the key of the first record is refused in every form of input and nothing is merged`(
    backend: Backend, form: Form
  ) async throws {
    let stack = try makeStack(backend)
    let error = await #expect(throws: CoherenceError.self) {
      try await merge([1, 2, 1], as: form, into: stack, Arguments())
    }
    #expect(error?.code == .invalidMergeKey)
    #expect(Set(try stack.names().values) == ["old"])
  }

  @Test(arguments: Backend.available)
  func `properties that a merge leaves out keep their values in both forms of decoded input`(backend: Backend)
    async throws
  {
    let stack = try makeStack(backend)
    let entity = try stack.entity("Artist")
    let context = stack.connect.newActionContext()
    let merged = try context.merge(records: [Artist(id: 1), Artist(id: 2)], for: entity, leavingOut: ["note"])
    #expect(merged.counts == MergeResult.with(updated: 2))
    let paged = try await context.mergePages(
      page([Artist(id: 3), Artist(id: 4)]), for: entity, leavingOut: ["note"])
    #expect(paged.counts == MergeResult.with(updated: 2))
    #expect(Set(try stack.names().values) == ["new"])
    #expect(Set(try notes(stack).values) == ["old"])
  }
}
