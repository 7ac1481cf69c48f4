import CoherenceActions
import CoherenceCore
import Foundation
import Testing
import TestSupport

@Suite("Merging decoded values")
struct MergeDecodingTests {
  private let stack: MergeStack

  init() throws {
    stack = try MergeStack(.inMemory)
    try stack.merge([MergeRecord(["id": 1, "name": "Ada"]), MergeRecord(["id": 2, "name": "Grace"])], into: "Artist")
    try stack.merge(["jazz", "rock"].map { MergeRecord(["name": $0]) }, into: "Genre")
  }

  private struct Album: Decodable {
    struct Artist: Decodable {
      var id: Int32
      var name: String
    }
    var label: String
    var number: Int
    var title: String?
    var artist: Artist?
    var genres: [String]
    /// A property without an attribute.
    var price: Double
  }

  private static let page = Data(
    """
    [{"label": "L", "number": 1, "title": "One", "artist": {"id": 2, "name": "?"}, "genres": ["jazz"], "price": 9.5},
     {"label": "L", "number": 2, "title": null, "artist": null, "genres": ["rock", "jazz"], "price": 9.5}]
    """.utf8)

  private func check() throws {
    try stack.read { context in
      let albums = try stack.objects("Album", context).sorted {
        try $0.value(for: "number", as: Int64.self) < $1.value(for: "number", as: Int64.self)
      }
      try #require(albums.count == 2)
      #expect(try albums.map { try $0.value(for: "title", as: String?.self) } == ["One", nil])
      #expect(try albums[0].object(for: "artist")?.value(for: "name", as: String.self) == "Grace")
      #expect(try albums[1].object(for: "artist") == nil)
      #expect(try albums.map { try $0.objects(for: "genres").count } == [1, 2])
    }
  }

  @Test func `decoded structures are merged by the names of their properties`() throws {
    let albums = try JSONDecoder().decode([Album].self, from: Self.page)
    let context = stack.connect.newActionContext()
    let entity = try stack.entity("Album")
    func merge() throws -> MergeResult { try context.merge(records: albums, for: entity, leavingOut: ["price"]) }
    #expect(try merge().counts == MergeResult.with(inserted: 2))
    #expect(try merge().counts == MergeResult.with(unchanged: 2))
    try check()
  }

  @Test func `records are decoded by the entity, without a type for the record`() throws {
    let entity = try stack.entity("Album")
    let records = try JSONDecoder().decode([MergeRecord].self, from: Self.page, configuration: entity)
    #expect(try stack.merge(records, into: "Album").counts == MergeResult.with(inserted: 2))
    #expect(try stack.merge(records, into: "Album").counts == MergeResult.with(unchanged: 2))
    try check()
  }

  @Test func `values of every type are decoded by the decoder's strategies`() throws {
    let json = """
      {"id": 9, "wealth": 1.25, "height": 2, "isActive": true, "born": "2001-02-03T04:05:06Z",
       "token": "00010203-0405-0607-0809-0A0B0C0D0E0F", "portrait": "AAEC"}
      """
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .iso8601
    let record = try decoder.decode(
      MergeRecord.self, from: Data(json.utf8), configuration: try stack.entity("Artist"))
    try stack.merge([record], into: "Artist", options: MergeOptions(mode: .upsertOnly))
    try stack.read { context in
      var request = FetchRequest<ManagedObject>(entityName: "Artist")
      request.predicate = try FetchPredicate(format: "id == 9")
      let artist = try #require(try context.fetch(request).first)
      #expect(try artist.value(for: "wealth", as: Decimal.self) == Decimal(string: "1.25"))
      #expect(try artist.value(for: "height", as: Double.self) == 2)
      #expect(try artist.value(for: "isActive", as: Bool.self))
      #expect(try artist.value(for: "portrait", as: Data.self) == Data([0, 1, 2]))
      #expect(try artist.value(for: "born", as: Date.self) == Date(timeIntervalSince1970: 981_173_106))
      #expect(try artist.value(for: "name", as: String.self) == "unknown")
    }
  }

  /// A stack with an entity that has an attribute with any JSON.
  private func makeReadingStack() throws -> MergeStack {
    let model = try ManagedObjectModel {
      Entity("Reading", uniqueness: [["id"]]) {
        Attribute("id", .int64)
        Attribute("details", .codable, optional: true)
      }
    }
    return try MergeStack(.inMemory, model)
  }

  @Test func `a codable attribute keeps all digits of the numbers of its JSON`() throws {
    struct Details: Codable, Equatable {
      var serial: UInt64
      var price: Decimal
      var ratio: Double
      var distance: Double
    }
    let stack = try makeReadingStack()
    let json = """
      {"id": 1, "details": {"serial": 12345678901234567890, "price": 0.1000000000000000000000000001, "ratio": 0.1,
       "distance": 1e300}}
      """
    let record = try JSONDecoder().decode(
      MergeRecord.self, from: Data(json.utf8), configuration: try stack.entity("Reading"))
    #expect(try stack.merge([record], into: "Reading").inserted == 1)
    let price = try #require(Decimal(string: "0.1000000000000000000000000001"))
    let details = Details(serial: 12_345_678_901_234_567_890, price: price, ratio: 0.1, distance: 1e300)
    try stack.read { context in
      let reading = try #require(try stack.objects("Reading", context).first)
      #expect(try reading.codable(for: "details", as: Details.self) == details)
    }
  }

  @Test func `the error of a number in the JSON of a codable attribute names the position of the number`() throws {
    let json = #"{"id": 1, "details": {"list": [null, [1, 1e999]]}}"#
    let entity = try makeReadingStack().entity("Reading")
    let error = try #require(throws: DecodingError.self) {
      try JSONDecoder().decode(MergeRecord.self, from: Data(json.utf8), configuration: entity)
    }
    guard case .typeMismatch(_, let context) = error else { throw error }
    let path = context.codingPath.map { key in key.intValue.map { "\($0)" } ?? key.stringValue }
    #expect(path == ["details", "list", "1", "1"])
  }

  @Test func `invalid JSON is refused by the decoder, and nothing is merged`() throws {
    for text in ["", "[", "{\"label\"", "[{\"label\": 3}]", "null"] {
      #expect(throws: DecodingError.self) {
        try JSONDecoder().decode(
          [MergeRecord].self, from: Data(text.utf8), configuration: try stack.entity("Album"))
      }
    }
  }

  @Test func `a nested value without the destination's key is refused`() throws {
    struct Keyless: Decodable {
      struct Artist: Decodable { var name = "Ada" }
      var label = "L"
      var number = 1
      var artist = Artist()
    }
    #expect { try MergeRecord(properties: Keyless(), for: try stack.entity("Album")) } throws: {
      ErrorCode.invalidMergeKey ~= $0
    }
  }
}
