import CoherenceActions
import CoherenceCore
import CoherenceStrategies
import Foundation
import Testing
import TestSupport
import TestRandom

@Suite("Merges on every store")
struct MergeOnStoresTests {
  private func artists(_ ids: some Sequence<Int>, _ name: String) -> [MergeRecord] {
    ids.map { MergeRecord(["id": $0, "name": "\(name) \($0)", "note": "note \($0)"]) }
  }

  /// A value of every type.
  private func complete(_ id: Int) -> MergeRecord {
    MergeRecord([
      "id": id, "name": "Ä \(id)", "note": String?.none, "portrait": Data([0, UInt8(id % 256), 255]),
      "born": Date(timeIntervalSince1970: Double(id) + 0.123456), "wealth": Decimal(id) / 8, "height": Double(id) * 0.1,
      "isActive": id % 2 == 0, "token": UUID(uuid: (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, UInt8(id % 256))),
    ])
  }

  @Test(arguments: Backend.available)
  func `one merge inserts, updates and deletes`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    #expect(try stack.merge(artists(1...6, "old"), into: "Artist").inserted == 6)
    let result = try stack.merge(artists(1...2, "old") + artists(3...4, "new") + artists(9...10, "new"), into: "Artist")
    #expect(result.counts == MergeResult.with(inserted: 2, updated: 2, unchanged: 2, deleted: 2))
    #expect(
      try stack.names() == [1: "old 1", 2: "old 2", 3: "new 3", 4: "new 4", 9: "new 9", 10: "new 10"])
  }

  @Test(arguments: Backend.available)
  func `a second merge of equal records writes nothing, for all types and any order`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    let records = (1...40).map(complete)
    try stack.merge(records, into: "Artist")
    let versions = try stack.versions(of: "Artist")
    let context = stack.connect.newActionContext()
    let result = try context.merge(records: records.shuffled(), for: try stack.entity("Artist"))
    #expect(result.counts == MergeResult.with(unchanged: 40))
    #expect(context.statistics.updates == 0 && context.statistics.saveTime == 0)
    #expect(try stack.versions(of: "Artist") == versions)
  }

  @Test(arguments: Backend.available)
  func `a changed value of every type is detected`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    let changes: [String: any AttributeConvertible] = [
      "name": "A\u{308} 1", "note": "", "portrait": Data(), "born": Date(timeIntervalSince1970: 1.123457),
      "wealth": Decimal(string: "0.1250000001")!, "height": 0.1.nextUp, "isActive": Bool?.none, "token": UUID(),
    ]
    try stack.merge([complete(1)], into: "Artist")
    for (name, value) in changes {
      let record = MergeRecord(["id": 1, name: value])
      #expect(try stack.merge([record], into: "Artist").updated == 1, "\(name)")
      #expect(try stack.merge([record], into: "Artist").unchanged == 1, "\(name)")
    }
  }

  @Test(arguments: Backend.available)
  func `an empty string differs from a missing one`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    try stack.merge([MergeRecord(["id": 1, "note": ""])], into: "Artist")
    #expect(try stack.merge([MergeRecord(["id": 1, "note": String?.none])], into: "Artist").updated == 1)
    #expect(try stack.merge([MergeRecord(["id": 1, "note": ""])], into: "Artist").updated == 1)
  }

  @Test(arguments: Backend.available)
  func `only changed records become objects`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    try stack.merge(artists(1...2000, "old"), into: "Artist")
    let counter = ObjectCounter()
    try MergedArtist.$counter.withValue(counter) {
      let result = try stack.merge(artists(1...1990, "old") + artists(1991...1995, "new"), into: "Artist")
      #expect(result.counts == MergeResult.with(updated: 5, unchanged: 1990, deleted: 5))
    }
    #expect(counter.count <= 20)
  }

  @Test(arguments: Backend.available)
  func `the view shows merged records`(backend: Backend) async throws {
    let stack = try MergeStack(backend)
    try stack.merge(artists(1...3, "old"), into: "Artist")
    try await MainActor.run {
      let view = stack.connect.viewContext
      let shown = try stack.objects("Artist", view)
      #expect(shown.count == 3)
      try stack.merge(artists(2...4, "new"), into: "Artist")
      #expect(
        try Set(stack.objects("Artist", view).map { try $0.value(for: "name", as: String.self) })
          == ["new 2", "new 3", "new 4"])
    }
  }

  @Test(arguments: Backend.available)
  func `few input records are matched among many stored ones by key`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    try stack.merge((0..<3000).map { MergeRecord(["name": "genre \($0)", "rank": $0]) }, into: "Genre")
    let upsert = MergeOptions(mode: .upsertOnly)
    for count in [10, 600] {
      let records = (2990..<(2990 + count)).map { MergeRecord(["name": "genre \($0)", "rank": $0 + 1 + count]) }
      let result = try stack.merge(records, into: "Genre", options: upsert)
      #expect(result.counts == MergeResult.with(inserted: count - 10, updated: 10))
    }
    #expect(try stack.versions(of: "Genre").count == 3590)
  }

  @Test(arguments: Backend.available)
  func `the filter limits deletion but not matching`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    try stack.merge(artists(1...3, "mine") + artists(4...6, "others"), into: "Artist")
    let filter = FetchPredicate.comparison(
      .path(PropertyPath("name")), .beginsWith, .value(.string("mine")))
    let result = try stack.merge(artists([1, 4], "mine"), into: "Artist", within: filter)
    #expect(result.counts == MergeResult.with(updated: 1, unchanged: 1, deleted: 2))
    #expect(try stack.names() == [1: "mine 1", 4: "mine 4", 5: "others 5", 6: "others 6"])
  }

  @Test(arguments: Backend.available)
  func `a filter that no store can translate has the same effect`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    try stack.merge(artists(1...3, "mine") + artists(4...6, "others"), into: "Artist")
    let filter = try FetchPredicate(format: "name MATCHES 'm[a-z]+ [0-9]' AND mentor == NIL")
    let result = try stack.merge(artists([1, 5], "new"), into: "Artist", within: filter)
    #expect(result.counts == MergeResult.with(updated: 2, deleted: 2))
    #expect(try stack.names() == [1: "new 1", 4: "others 4", 5: "new 5", 6: "others 6"])
  }

  @Test(arguments: Backend.available)
  func `a string that no store can hold is refused when it would be written`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    try stack.merge(artists(1...3, "old"), into: "Artist")
    let page = [MergeRecord(["id": 1, "name": "new"]), MergeRecord(["id": 2, "name": "\u{0}"])]
    #expect { try stack.merge(page, into: "Artist") } throws: { ErrorCode.invalidValue ~= $0 }
    #expect(try stack.names() == [1: "old 1", 2: "old 2", 3: "old 3"])
  }

  @Test(arguments: Backend.available)
  func `strings are matched by their bytes, regardless of collations`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    let words = ["a", "B", "Z", "z", "ä", "a\u{308}", "é", "_", "10", "9", "", "ß", "ss", "😀"]
    func merge(_ words: [String]) throws -> MergeResult {
      try stack.merge(words.map { MergeRecord(["name": $0]) }, into: "Genre")
    }
    #expect(try merge(words).counts == MergeResult.with(inserted: words.count))
    #expect(try merge(words.shuffled()).counts == MergeResult.with(unchanged: words.count))
    #expect(
      try merge(Array(words.dropLast())).counts == MergeResult.with(unchanged: words.count - 1, deleted: 1))
  }

  @Test(arguments: Backend.available)
  func `a replacing merge leaves the records of its input, for any stored records and any order`(
    backend: Backend
  ) throws {
    let stack = try MergeStack(backend)
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededRandom(seed: seed)
    for _ in 0..<10 {
      let ids = (0..<60).filter { _ in Bool.random(using: &random) }.shuffled(using: &random)
      let expected = Dictionary(
        uniqueKeysWithValues: ids.map { (Int32($0), "\(Int.random(in: 0...3, using: &random))") })
      let records = ids.map { MergeRecord(["id": $0, "name": expected[Int32($0)] ?? ""]) }
      let before = try stack.names()
      let result = try stack.merge(records, into: "Artist")
      #expect(try stack.names() == expected, "seed \(seed)")
      #expect(result.inserted == expected.keys.count { before[$0] == nil }, "seed \(seed)")
      #expect(result.deleted == before.keys.count { expected[$0] == nil }, "seed \(seed)")
      #expect(
        result.updated == expected.count { before[$0.key] != nil && before[$0.key] != $0.value }, "seed \(seed)")
      #expect(
        try stack.merge(records.shuffled(using: &random), into: "Artist").counts
          == MergeResult.with(unchanged: ids.count), "seed \(seed)")
    }
  }

  @Test(arguments: Backend.available)
  func `a merge with a filter on related records inserts beside a read-only store`(backend: Backend) throws {
    let model = try MergeStack.library()
    let (archive, stack) = (try MergeStack(backend, model), try MergeStack(backend, model))
    try archive.merge([MergeRecord(["id": 7, "name": "archived"])], into: "Artist")
    var readOnly = archive.configuration
    readOnly.location = archive.store.url
    readOnly.options[StoreOption.readOnly] = true
    try stack.connect.attachPersistentStore(for: readOnly)
    // Such a merge keeps other writers out from its first plan on.
    let filter = try FetchPredicate(format: "mentor.name == 'Bob'")
    let result = try stack.merge([MergeRecord(["id": 1, "name": "Ada"])], into: "Artist", within: filter)
    #expect(result.counts == MergeResult.with(inserted: 1))
    #expect(try stack.names() == [1: "Ada", 7: "archived"])
    #expect(try archive.names() == [7: "archived"])
  }

  @Test(arguments: Backend.available)
  func `a merge without saving is no write, so that the context keeps its pinned snapshot`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    try stack.merge(artists(1...1, "old"), into: "Artist")
    let context = stack.connect.newActionContext()
    try context.performAndWait { try context.pinSnapshot() }
    try stack.merge(artists(1...1, "new"), into: "Artist")
    func merge(saves: Bool) throws -> [String: Int] {
      try context.merge(
        records: artists(1...1, "old"), for: stack.entity("Artist"), options: MergeOptions(saves: saves)
      ).counts
    }
    #expect(try merge(saves: false) == MergeResult.with(unchanged: 1))
    #expect(try merge(saves: true) == MergeResult.with(updated: 1))
    context.performAndWait { context.unpinSnapshot() }
    #expect(try stack.names() == [1: "old 1"])
  }

  @Test(arguments: Backend.available)
  func `several merges without saving become one transaction of the caller`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    let context = stack.connect.newActionContext()
    let options = MergeOptions(saves: false)
    try context.performAndWait {
      try context.merge(
        records: [MergeRecord(["id": 1, "name": "Ada"])], for: try stack.entity("Artist"), options: options)
      let album = MergeRecord(["label": "L", "number": 1, "artist": 1])
      try context.merge(records: [album], for: try stack.entity("Album"), options: options)
      #expect(
        try context.merge(records: [album], for: try stack.entity("Album"), options: options).counts
          == MergeResult.with(unchanged: 1))
      #expect(try stack.names().isEmpty)
      try context.save()
    }
    try stack.read { context in
      let artist = try stack.objects("Album", context)[0].object(for: "artist")
      #expect(try artist?.value(for: "name", as: String.self) == "Ada")
    }
  }
}
