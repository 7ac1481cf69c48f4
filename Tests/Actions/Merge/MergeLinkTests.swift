import CoherenceActions
import CoherenceCore
import Testing
import TestSupport

@Suite("Links of merges")
struct MergeLinkTests {
  private func album(_ number: Int, _ links: [String: MergeLink]) -> MergeRecord {
    MergeRecord(["label": "L", "number": number], links: links)
  }

  private func genres(_ stack: MergeStack) throws -> [Int: Set<String>] {
    try stack.read { context in
      Dictionary(
        try stack.objects("Album", context).map { album in
          (
            try album.value(for: "number", as: Int.self),
            Set(try album.objects(for: "genres").map { try $0.value(for: "name", as: String.self) })
          )
        }, uniquingKeysWith: { first, _ in first })
    }
  }

  @Test(arguments: Backend.available)
  func `links are compared and set for many records at once`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    try stack.merge((0..<20).map { MergeRecord(["name": "g\($0)"]) }, into: "Genre")
    try stack.merge((0..<20).map { MergeRecord(["id": $0]) }, into: "Artist")
    func albums(_ shift: Int) -> [MergeRecord] {
      (0..<700).map { number in
        let genres = [number % 20, (number + 1) % 20].map { MergeKey("g\($0)") }
        return album(
          number, ["genres": .many(genres), "artist": .one(MergeKey((number + (number < 5 ? shift : 0)) % 20))])
      }
    }
    #expect(try stack.merge(albums(0), into: "Album").inserted == 700)
    #expect(try stack.merge(albums(0).reversed(), into: "Album").counts == MergeResult.with(unchanged: 700))
    #expect(try stack.merge(albums(1), into: "Album").counts == MergeResult.with(updated: 5, unchanged: 695))
    var changed = albums(1)
    changed[3].links["genres"] = .many(["g0"])
    changed[4].links["genres"] = .many([])
    // A record far behind: members are read for some hundred records at a time.
    changed[699].links["genres"] = .many(["g0"])
    #expect(try stack.merge(changed, into: "Album").counts == MergeResult.with(updated: 3, unchanged: 697))
    let found = try genres(stack)
    #expect(found[3] == ["g0"] && found[4] == [] && found[5] == ["g5", "g6"] && found[699] == ["g0"])
  }

  @Test(arguments: Backend.available)
  func `links lead to records of the same merge, new or stored`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    func mentors() throws -> [Int: Int?] {
      try stack.read { context in
        Dictionary(
          try stack.objects("Artist", context).map { artist in
            (
              try artist.value(for: "id", as: Int.self),
              try artist.object(for: "mentor").map { try $0.value(for: "id", as: Int.self) }
            )
          }, uniquingKeysWith: { first, _ in first })
      }
    }
    func artist(_ id: Int, mentor: Int?) -> MergeRecord { MergeRecord(["id": id, "mentor": mentor]) }
    try stack.merge([artist(1, mentor: 2), artist(2, mentor: nil)], into: "Artist")
    #expect(try mentors() == [1: 2, 2: nil])
    let page = [artist(1, mentor: 3), artist(2, mentor: 1), artist(3, mentor: 3)]
    #expect(try stack.merge(page, into: "Artist").counts == MergeResult.with(inserted: 1, updated: 2))
    #expect(try mentors() == [1: 3, 2: 1, 3: 3])
    #expect(try stack.merge(page, into: "Artist").counts == MergeResult.with(unchanged: 3))
    let pupils = MergeRecord(["id": 2], links: ["pupils": .many([1, 3])])
    #expect(try stack.merge([pupils], into: "Artist", options: MergeOptions(mode: .upsertOnly)).updated == 1)
    #expect(try mentors() == [1: 2, 2: 1, 3: 2])
  }

  @Test(arguments: Backend.available)
  func `the order of members is stored, and another order counts as a change`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    try stack.merge((1...3).map { album($0, [:]) }, into: "Album")
    func artist(_ numbers: [Int]) -> MergeRecord {
      MergeRecord(["id": 1], links: ["albums": .many(numbers.map { MergeKey("L", $0) })])
    }
    #expect(try stack.merge([artist([3, 1, 2])], into: "Artist").inserted == 1)
    #expect(try stack.merge([artist([3, 1, 2])], into: "Artist").unchanged == 1)
    #expect(try stack.merge([artist([1, 3])], into: "Artist").updated == 1)
    let numbers = try stack.read { context in
      try stack.objects("Artist", context)[0].objects(for: "albums").map { try $0.value(for: "number", as: Int.self) }
    }
    #expect(numbers == [1, 3])
  }

  @Test(arguments: Backend.available)
  func `records of one merge whose lists of different relationships changed are all updated`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    try stack.merge((1...2).map { album($0, [:]) }, into: "Album")
    func artist(_ id: Int, pupils: [MergeKey], albums: [MergeKey]) -> MergeRecord {
      MergeRecord(["id": id], links: ["pupils": .many(pupils), "albums": .many(albums)])
    }
    let albums = [MergeKey("L", 1), MergeKey("L", 2)]
    func artists(pupils: [MergeKey], albums: [MergeKey]) -> [MergeRecord] {
      [artist(1, pupils: pupils, albums: []), artist(2, pupils: [], albums: albums), artist(3, pupils: [], albums: [])]
    }
    #expect(try stack.merge(artists(pupils: [3], albums: albums), into: "Artist").inserted == 3)
    // Of the first record only the pupils change, of the second only the albums.
    let page = artists(pupils: [2], albums: albums.reversed())
    try stack.merge(page, into: "Artist")
    #expect(try stack.merge(page, into: "Artist").counts == MergeResult.with(unchanged: 3))
    try stack.read { context in
      var artists: [Int: ManagedObject] = [:]
      for artist in try stack.objects("Artist", context) { artists[try artist.value(for: "id", as: Int.self)] = artist }
      let pupils = try #require(artists[1]).objects(for: "pupils").map { try $0.value(for: "id", as: Int.self) }
      let numbers = try #require(artists[2]).objects(for: "albums").map { try $0.value(for: "number", as: Int.self) }
      #expect(pupils == [2])
      #expect(numbers == [2, 1])
    }
  }

  @Test(arguments: Backend.available)
  func `a link to a missing record is refused, and nothing is merged`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    #expect {
      try stack.merge([album(1, [:]), album(2, ["artist": .one(4711)])], into: "Album")
    } throws: { error in
      ErrorCode.objectNotFound ~= error && "\(error)".contains("Album.artist") && !"\(error)".contains("4711")
    }
    #expect(try stack.versions(of: "Album").isEmpty)
  }

  @Test(arguments: Backend.available)
  func `the links of a record that the merge leaves out need no destination`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    try stack.merge([MergeRecord(["id": 3])], into: "Artist")
    let (unlinkable, linked) = (album(1, ["artist": .one(4711)]), album(1, ["artist": .one(3)]))
    let last = try stack.merge([unlinkable, linked], into: "Album", options: MergeOptions(duplicates: .lastWins))
    #expect(last.counts == MergeResult.with(inserted: 1, skipped: 1))
    let first = try stack.merge([linked, unlinkable], into: "Album", options: MergeOptions(duplicates: .firstWins))
    #expect(first.counts == MergeResult.with(unchanged: 1, skipped: 1))
    let keyless = MergeRecord(["id": Int?.none], links: ["mentor": .one(4711)])
    let skipped = try stack.merge([keyless], into: "Artist", options: MergeOptions(missingKeys: .skip))
    #expect(skipped.counts == MergeResult.with(skipped: 1))
    #expect {
      try stack.merge([linked, unlinkable], into: "Album", options: MergeOptions(duplicates: .lastWins))
    } throws: {
      ErrorCode.objectNotFound ~= $0
    }
  }

  @Test(arguments: Backend.available)
  func `the links of a record that the condition protects need no destination`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    try stack.merge([MergeRecord(["name": "rock"])], into: "Genre")
    try stack.merge([album(1, ["genres": .many(["rock"])]), album(2, [:])], into: "Album")
    let condition = try FetchPredicate(format: "number > 1")
    for links: [String: MergeLink] in [["artist": .one(4711)], ["genres": .many(["rock", "jazz"])]] {
      let page = [album(1, links), album(2, ["genres": .many(["rock"])])]
      let result = try stack.merge(page, into: "Album", if: condition)
      #expect(result.updated + result.unchanged == 1 && result.skipped == 1)
      #expect(try genres(stack) == [1: ["rock"], 2: ["rock"]])
      // Other records, new and stored ones, need their destinations.
      for refused in [page, [album(3, links)]] {
        #expect {
          try stack.merge(refused, into: "Album", options: MergeOptions(mode: .upsertOnly))
        } throws: {
          ErrorCode.objectNotFound ~= $0
        }
      }
    }
    #expect(try stack.versions(of: "Album").count == 2)
  }

  @Test func `an ignored relationship is kept in existing records, and set in new ones`() throws {
    let stack = try MergeStack(.inMemory)
    try stack.merge(["jazz", "rock"].map { MergeRecord(["name": $0]) }, into: "Genre")
    try stack.merge([album(1, ["genres": .many(["jazz"])])], into: "Album")
    let page = [album(1, ["genres": .many(["rock"])]), album(2, ["genres": .many(["rock"])])]
    let result = try stack.merge(page, into: "Album", ignoring: ["genres"])
    #expect(result.counts == MergeResult.with(inserted: 1, unchanged: 1))
    #expect(try genres(stack) == [1: ["jazz"], 2: ["rock"]])
  }

  @Test(arguments: Backend.available)
  func `a list that names a member twice has the member once, and is equal afterwards`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    try stack.merge((1...2).map { album($0, [:]) }, into: "Album")
    let keys = [2, 1, 2].map { MergeKey("L", $0) }
    let page = [MergeRecord(["id": 1], links: ["albums": .many(keys)])]
    #expect(try stack.merge(page, into: "Artist").inserted == 1)
    #expect(try stack.merge(page, into: "Artist").unchanged == 1)
    let numbers = try stack.read { context in
      try stack.objects("Artist", context)[0].objects(for: "albums").map { try $0.value(for: "number", as: Int.self) }
    }
    #expect(numbers == [2, 1])
  }
}
