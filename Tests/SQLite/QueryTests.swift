import CoherenceCore
import TestSupport
import Testing

/// Conditions on texts, links and readers of a SQLite store. `Tests/SQL` has the conditions that every SQL store
/// evaluates.
@Suite struct QueryTests {
  private let library: TaggedAlbums

  init() throws { library = try TaggedAlbums(.sqlite) }

  private var store: any PersistentStore { library.store }
  private var albums: [Row] { library.albums }
  private var table: LinkTable { library.tagLinks }

  private func find(_ predicate: FetchPredicate) throws -> [Int] { try library.find(predicate) }

  @Test func `texts are searched without regard to case and marks`() throws {
    func title(_ comparison: ComparisonOperator, _ text: String, _ options: StringOptions) -> FetchPredicate {
      .comparison(.path(PropertyPath("title")), comparison, .value(.string(text)), options)
    }
    #expect(try find(title(.equal, "PASTEL blues", .caseInsensitive)) == [0])
    #expect(try find(title(.notEqual, "PASTEL blues", .caseInsensitive)) == [1, 2, 3])
    #expect(try find(title(.endsWith, "BLUES", .caseInsensitive)) == [0, 2])
    #expect(try find(title(.endsWith, "a", [.caseInsensitive, .diacriticInsensitive])) == [1])
    #expect(try find(title(.contains, "A", .diacriticInsensitive)) == [1])
    #expect(try find(.membership(.path(PropertyPath("title")), in: [.string("BLUES")], .caseInsensitive)) == [2])
    #expect(try find(title(.like, "*L?ES", .caseInsensitive)) == [0, 2])
    let order = [SortKey("title", options: .caseInsensitive)]
    #expect(try store.fetch("Album", by: order).map(\.id) == [3, 1, 2, 0].map { albums[$0].id })
  }

  @Test func `SQL wildcards and escapes in a pattern match themselves`() throws {
    #expect(try find(.path("title", .like, .string("100%_?"))) == [1])
    #expect(try find(.path("title", .like, .string("*"))) == [0, 1, 2])
    #expect(try find(.path("title", .like, .string("blues"))) == [2])
    #expect(try find(.path("title", .like, .string("blue\\*"))) == [])
    #expect(try find(.path("title", .like, .string("[b]lues"))) == [])
    #expect(try find(.path("title", .contains, .string(""))) == [0, 1, 2])
  }

  @Test func `links are ordered by key, then by position`() throws {
    let keys = [albums[2].key, albums[0].key]
    let links = try store.reading { try $0.links(table, of: keys, fromSource: true) }
    #expect(links.map(\.source) == [albums[0].key, albums[0].key, albums[2].key])
    #expect(links.map(\.sourcePosition) == [1, 2, nil])
    let back = try store.reading { try $0.links(table, of: [links[0].target], fromSource: false) }
    #expect(back.map(\.source) == [albums[0].key, albums[2].key])
  }

  @Test func `a reader sees the state of its first read until its end`() throws {
    let reader = try store.makeReader()
    #expect(try reader.row(albums[0].key, of: albums[0].entity) != nil)
    try store.insert("Album", ["title": .string("later")])
    #expect(try reader.count(StoreQuery(entity: store.entity("Album"))) == 4)
    #expect(try reader.rows(albums.map(\.key) + [999], of: store.entity("Album")).count == 4)
    reader.finish()
    #expect(try store.fetch("Album").count == 5)
    #expect { try reader.count(StoreQuery(entity: store.entity("Album"))) } throws: { ErrorCode.illegalState ~= $0 }
  }

  @Test func `two fetches of one reader do not disturb each other`() throws {
    let rows = try (0..<3000).map { try store.row("Tag", ["name": .string("\($0)")]) }
    try store.save(StoreSaveRequest(steps: [.insert(store.entity("Tag"), rows)]))
    try store.reading { reader in
      let query = StoreQuery(entity: store.entity("Tag"))
      let cursors = [try reader.fetch(query).cursor, try reader.fetch(query).cursor]
      var found: [[Row]] = [[], []]
      while try cursors[0].next(into: &found[0]) { _ = try cursors[1].next(into: &found[1]) }
      while try cursors[1].next(into: &found[1]) {}
      #expect(found[0].count == 3002)
      #expect(found[0].map(\.key) == found[1].map(\.key))
    }
  }
}
