import CoherenceCore
import Testing

/// The reads of members for conditions on the members of a target that many records have in common.
@Suite struct SharedAggregateTests {
  /// The records of a library during one execution, which counts the reads of members.
  private struct CountingRecords: AggregateRetaining {
    final class Reads { var count = 0 }

    let library: QueryLibrary
    let computedAggregates = ComputedAggregates()
    let reads = Reads()

    func id(of record: QueryLibrary.Record) -> ManagedObjectID { library.id(of: record) }
    func entity(of record: QueryLibrary.Record) -> EntityDescription { library.entity(of: record) }
    func value(_ slot: Int, of record: QueryLibrary.Record) throws -> AttributeValue {
      try library.value(slot, of: record)
    }
    func target(of relationship: RelationshipDescription, from record: QueryLibrary.Record) throws
      -> QueryLibrary.Record?
    {
      try library.target(of: relationship, from: record)
    }
    func members(of relationship: RelationshipDescription, from record: QueryLibrary.Record) throws
      -> [QueryLibrary.Record]
    {
      reads.count += 1
      return try library.members(of: relationship, from: record)
    }
  }

  /// An album with tracks of the lengths, and the tracks.
  private func tracks(_ lengths: ClosedRange<Int>, _ library: QueryLibrary) throws -> [QueryLibrary.Record] {
    let album = try library.make("Album", ["title": "Album"])
    return try lengths.map { length in
      let track = try library.make("Track", ["title": "Track", "length": length])
      track.targets["album"] = album
      album.members["tracks", default: []].append(track)
      return track
    }
  }

  @Test(arguments: [
    ("album.tracks.@sum.length > 50", 10), ("album.tracks.@max.length == 3", 3),
    ("SUBQUERY(album.tracks, $t, $t.length > 2).@count == 1", 3),
  ])
  func `the members of a common target are read once for an aggregate in a condition`(
    format: String, found: Int
  ) throws {
    let library = try QueryLibrary()
    let records = try tracks(1...10, library) + tracks(1...3, library)
    let source = CountingRecords(library: library)
    let predicate = try PreparedPredicate(try FetchPredicate(format: format), for: library.entity("Track"))
    #expect(try records.count { try predicate.matches($0, in: source) } == found)
    #expect(source.reads.count == 2)
  }

  @Test func `the members of a common target are read once for an aggregate in an order`() throws {
    let library = try QueryLibrary()
    let records = try tracks(1...10, library) + tracks(1...3, library)
    let source = CountingRecords(library: library)
    let order = try PreparedOrder([SortKey("album.tracks.@avg.length")], for: library.entity("Track"))
    let values = try records.map { try order.sortValues(of: $0, in: source) }
    #expect(values.first == [.double(5.5)] && values.last == [.double(2)])
    #expect(source.reads.count == 2)
  }
}
