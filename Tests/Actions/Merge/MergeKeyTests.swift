import CoherenceActions
import CoherenceCore
import Testing
import TestSupport

@Suite("Keys of merges")
struct MergeKeyTests {
  private func artist(_ id: Int?, _ name: String) -> MergeRecord { MergeRecord(["id": id, "name": name]) }

  private func names(_ stack: MergeStack) throws -> [String] {
    try stack.read { context in
      try stack.objects("Artist", context).map { try $0.value(for: "name", as: String.self) }.sorted()
    }
  }

  /// Inserts artists without a merge.
  private func insert(_ artists: [(Int32?, String)], into stack: MergeStack) throws {
    let context = stack.connect.newBackgroundContext()
    try context.performAndWait {
      for (id, name) in artists {
        let artist = try context.insertNewObject(forEntityName: "Artist")
        try artist.setValue(id, for: "id")
        try artist.setValue(name, for: "name")
      }
      try context.save()
    }
  }

  @Test(arguments: Backend.available)
  func `two input records with one key are refused, or one of them wins, by the options`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    let page = [artist(1, "first"), artist(2, "two"), artist(1, "last")]
    #expect { try stack.merge(page, into: "Artist") } throws: { ErrorCode.invalidMergeKey ~= $0 }
    #expect(try names(stack).isEmpty)
    let first = try stack.merge(page, into: "Artist", options: MergeOptions(duplicates: .firstWins))
    #expect(first.counts == MergeResult.with(inserted: 2, skipped: 1))
    #expect(try names(stack) == ["first", "two"])
    let last = try stack.merge(page, into: "Artist", options: MergeOptions(duplicates: .lastWins))
    #expect(last.counts == MergeResult.with(updated: 1, unchanged: 1, skipped: 1))
    #expect(try names(stack) == ["last", "two"])
  }

  /// Albums of 60 labels, each with 50 numbers.
  private static let albums = (0..<50).flatMap { number in (0..<60).map { (label: "label \($0)", number: number) } }

  private func insertAlbums(_ albums: some Sequence<(label: String, number: Int)>, into stack: MergeStack) throws {
    let context = stack.connect.newBackgroundContext()
    try context.performAndWait {
      for (label, number) in albums {
        let album = try context.insertNewObject(forEntityName: "Album")
        try album.setValue(label, for: "label")
        try album.setValue(Int64(number), for: "number")
      }
      try context.save()
    }
  }

  private func albumPage(_ albums: some Sequence<(label: String, number: Int)>, title: String) -> [MergeRecord] {
    albums.map { MergeRecord(["label": $0.label, "number": $0.number, "title": title]) }
  }

  /// The merge reads some hundred keys at once, and a read by labels and numbers finds rows of other keys too.
  @Test(arguments: Backend.available)
  func `a merge of many keys of two attributes finds each record once`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    try insertAlbums(Self.albums, into: stack)
    for title in ["new", "newer"] {
      let page = albumPage(Self.albums.prefix(720), title: title)
      let result = try stack.merge(page, into: "Album", options: MergeOptions())
      #expect(result.counts == MergeResult.with(updated: 720))
    }
  }

  @Test(arguments: Backend.available)
  func `many keys of two attributes with two records each keep the older record`(backend: Backend) throws {
    let stack = try MergeStack(backend, allowsDuplicateKeys: true)
    try insertAlbums(Self.albums, into: stack)
    try insertAlbums(Self.albums.prefix(720), into: stack)
    let page = albumPage(Self.albums.prefix(720), title: "new")
    let result = try stack.merge(page, into: "Album", options: MergeOptions(storedDuplicates: .delete))
    #expect(result.counts == MergeResult.with(updated: 720, deleted: 720))
    #expect(try stack.read { try stack.objects("Album", $0).count } == Self.albums.count)
  }

  @Test(arguments: Backend.available)
  func `several stored records with one key are refused, kept, or reduced to the oldest, by the options`(
    backend: Backend
  ) throws {
    let stack = try MergeStack(backend, allowsDuplicateKeys: true)
    try insert([(1, "older"), (2, "two"), (1, "younger")], into: stack)
    let page = [artist(1, "one"), artist(2, "two")]
    #expect { try stack.merge(page, into: "Artist") } throws: { ErrorCode.invalidMergeKey ~= $0 }
    #expect(try names(stack) == ["older", "two", "younger"])
    for mode in [MergeOptions.Mode.upsertOnly, .replace] {
      let kept = try stack.merge(page, into: "Artist", options: MergeOptions(mode: mode, storedDuplicates: .keep))
      #expect(kept.deleted == 0)
      #expect(try names(stack) == ["one", "two", "younger"])
    }
    let deleted = try stack.merge(page, into: "Artist", options: MergeOptions(storedDuplicates: .delete))
    #expect(deleted.counts == MergeResult.with(unchanged: 2, deleted: 1))
    #expect(try names(stack) == ["one", "two"])
  }

  @Test(arguments: Backend.available)
  func `an input record without a key is refused or skipped, and matches no stored record without a key`(
    backend: Backend
  ) throws {
    let stack = try MergeStack(backend)
    try insert([(nil, "local"), (1, "one")], into: stack)
    let page = [artist(nil, "nobody"), artist(1, "one")]
    #expect { try stack.merge(page, into: "Artist") } throws: { ErrorCode.invalidMergeKey ~= $0 }
    let result = try stack.merge(page, into: "Artist", options: MergeOptions(missingKeys: .skip))
    #expect(result.counts == MergeResult.with(unchanged: 1, skipped: 1))
    #expect(try names(stack) == ["local", "one"])
    let options = MergeOptions(mode: .replace, missingKeys: .skip, deletesRecordsWithoutKey: true)
    #expect(try stack.merge(page, into: "Artist", options: options).deleted == 1)
    #expect(try names(stack) == ["one"])
  }

  @Test(arguments: Backend.available)
  func `a key of the wrong type is refused by name, without its value`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    #expect { try stack.merge([MergeRecord(["id": "seventeen"])], into: "Artist") } throws: { error in
      ErrorCode.wrongType ~= error && "\(error)".contains("Artist.id") && !"\(error)".contains("seventeen")
    }
    #expect { try stack.merge([MergeRecord(["id": Int64.max])], into: "Artist") } throws: {
      ErrorCode.invalidValue ~= $0
    }
    #expect(try names(stack).isEmpty)
  }

  @Test(arguments: Backend.available)
  func `a key of several attributes is compared part by part`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    let records = [("a", 1), ("a", 11), ("a1", 1), ("b", 1)].map { MergeRecord(["label": $0, "number": $1]) }
    #expect(try stack.merge(records, into: "Album").inserted == 4)
    #expect(try stack.merge(records.reversed(), into: "Album").unchanged == 4)
    let result = try stack.merge([records[0], records[3]], into: "Album", options: MergeOptions(mode: .upsertOnly))
    #expect(result.counts == MergeResult.with(unchanged: 2))
  }

  @Test func `a model with a nameless entity is refused`() {
    #expect { try ManagedObjectModel(entities: [Entity("") { Attribute("id", .int64) }]) } throws: { error in
      "\(error)".contains("An entity has no name.")
    }
  }

  @Test func `a merge throws for an unmanaged or abstract entity, and without a configuration or a complete key`()
    throws
  {
    let model = try ManagedObjectModel(
      name: "Kinds",
      entities: [
        Entity("Kept", userInfo: ["uniquenessAttributes": "id"]) { Attribute("id", .int64) },
        Entity("Nameless") { Attribute("id", .int64) },
        Entity("Wrong", userInfo: ["uniquenessAttributes": "key"]) { Attribute("id", .int64) },
        Entity("Idea", isAbstract: true, userInfo: ["uniquenessAttributes": "id"]) { Attribute("id", .int64) },
        Entity("Thing", parent: "Idea") {},
      ])
    let stack = try MergeStack(.inMemory, model)
    #expect(try stack.merge([MergeRecord(["id": 1])], into: "Kept").inserted == 1)
    #expect(try stack.merge([MergeRecord(["id": 1])], into: "Thing").inserted == 1)
    for name in ["Nameless", "Wrong", "Idea"] {
      #expect { try stack.merge([MergeRecord(["id": 1])], into: name) } throws: { ErrorCode.unmanagedEntity ~= $0 }
    }
    let foreign = try MergeStack(.inMemory).entity("Artist")
    #expect { try stack.connect.newActionContext().merge(records: [MergeRecord](), for: foreign) } throws: {
      ErrorCode.unmanagedEntity ~= $0
    }
  }

  @Test(arguments: Backend.available)
  func `a record that lacks an attribute of the key has the attribute's default as key`(backend: Backend) throws {
    let model = try ManagedObjectModel {
      Entity("Setting", userInfo: ["uniquenessAttributes": "scope,name"]) {
        Attribute("scope", .string, default: "global")
        Attribute("name", .string)
        Attribute("value", .int64, default: 0)
      }
    }
    let stack = try MergeStack(backend, model)
    let local = MergeRecord(["scope": "local", "name": "a", "value": 1])
    let global = MergeRecord(["name": "a", "value": 2])
    #expect(try stack.merge([local, global], into: "Setting").counts == MergeResult.with(inserted: 2))
    let again = try stack.merge([global, local], into: "Setting")
    #expect(again.counts == MergeResult.with(unchanged: 2))
    #expect(
      try stack.values(of: "Setting", "value", by: "scope", as: (String, Int64).self) == ["local": 1, "global": 2])
  }
}
