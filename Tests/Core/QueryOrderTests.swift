import CoherenceCore
import Foundation
import Testing

@Suite struct QueryOrderTests {
  let library: QueryLibrary

  init() throws { library = try QueryLibrary() }

  private func titles(_ keys: SortKey...) throws -> [String] {
    let order = try PreparedOrder(keys, for: try library.entity("Artist"))
    let records = try [("b", "DE"), ("B", nil), ("é", "FR"), ("a", "DE"), ("A", nil)].map { name, country in
      try library.make("Artist", country.map { ["name": name, "country": $0] } ?? ["name": name])
    }
    let sorted = try records.map { ($0, try order.sortValues(of: $0, in: library)) }
      .sorted { order.order($0.1, $1.1) < 0 }.map(\.0)
    for (first, second) in zip(sorted, sorted.dropFirst()) {
      #expect(try order.order(first, second, in: library) <= 0)
      #expect(try order.order(second, first, in: library) >= 0)
    }
    let name = try #require(try library.entity("Artist").attribute(named: "name")).slot
    return sorted.map { $0.values[name].map { if case .string(let text) = $0 { text } else { "" } } ?? "" }
  }

  @Test func `texts are in the order of their bytes`() throws {
    #expect(try titles(SortKey("name")) == ["A", "B", "a", "b", "é"])
    #expect(try titles(SortKey("name", .reverse)) == ["é", "b", "a", "B", "A"])
  }

  @Test func `options fold before they order, and the next criterion breaks ties`() throws {
    #expect(
      try titles(
        SortKey("name", options: [.caseInsensitive, .diacriticInsensitive]), SortKey("name", .reverse))
        == ["a", "A", "b", "B", "é"])
  }

  @Test func `missing values come first in ascending order and last in descending order`() throws {
    #expect(try titles(SortKey("country"), SortKey("name")) == ["A", "B", "a", "b", "é"])
    #expect(try titles(SortKey("country", .reverse), SortKey("name")) == ["é", "a", "b", "A", "B"])
  }

  @Test func `missing values come first or last where a criterion places them`() throws {
    #expect(try titles(SortKey("country", missingValues: .last), SortKey("name")) == ["a", "b", "é", "A", "B"])
    #expect(
      try titles(SortKey("country", .reverse, missingValues: .first), SortKey("name")) == ["A", "B", "é", "a", "b"])
    #expect(try titles(SortKey("country", missingValues: .first), SortKey("name")) == ["A", "B", "a", "b", "é"])
    #expect(SortKey("country", .reverse, missingValues: .first).description == "country DESC NULLS FIRST")
  }

  @Test func `an order follows to-one relationships and treats a missing target as a missing value`() throws {
    let album = try library.makeAlbum()
    let other = try library.make("Album", ["title": "Other"])
    let order = try PreparedOrder([SortKey("artist.name")], for: album.entity)
    #expect(try order.order(other, album, in: library) < 0)
    #expect(order.dependencies.relationships.map(\.name) == ["artist"])
    #expect(order.dependencies.entities.map(\.name) == ["Artist"])
  }

  @Test(arguments: ["artist", "tracks", "self"])
  func `only attributes order records`(path: String) throws {
    let album = try library.entity("Album")
    let error = #expect(throws: CoherenceError.self) { try PreparedOrder([SortKey(path)], for: album) }
    #expect(error?.code == .invalidFetchRequest)
  }

  @Test func `numbers have no case to ignore`() throws {
    let album = try library.entity("Album")
    let error = #expect(throws: CoherenceError.self) {
      try PreparedOrder([SortKey("year", options: .caseInsensitive)], for: album)
    }
    #expect(error?.code == .invalidFetchRequest)
  }
}
