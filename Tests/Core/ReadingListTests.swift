import TestRandom
import Testing

@testable import CoherenceCore

/// The lists that reads fill: identifiers, members by owner, ranges of rows, and recent objects.
@Suite("Lists of reads")
struct ReadingListTests {
  private let album: EntityDescription
  private let track: EntityDescription
  private let spaces: IDSpaces

  init() throws {
    let model = try ManagedObjectModel {
      Entity("Album") {
        Relationship("tracks", toMany: "Track", inverse: "album", ordered: true)
        Relationship("notes", toMany: "Track", inverse: "notedAlbum")
      }
      Entity("Track") {
        Relationship("album", toOne: "Album", inverse: "tracks")
        Relationship("notedAlbum", toOne: "Album", inverse: "notes")
      }
    }
    album = try model.entity(named: "Album")
    track = try model.entity(named: "Track")
    spaces = IDSpaces(store: StoreIdentifier("lists"), model: model)
  }

  private func id(_ entity: EntityDescription, _ key: Int64) -> ManagedObjectID {
    ManagedObjectID(space: spaces[entity], key: key)
  }

  // MARK: Identifiers

  @Test func `a list of identifiers agrees with an array after every sequence of up to four additions`() {
    let own = track.temporarySpace
    var different: [[Int]] = []
    forEachSequence(of: 7, upTo: 4) { sequence in
      var (list, model): (IdentifierList, [ManagedObjectID]) = (IdentifierList(), [])
      for (step, operation) in sequence.enumerated() {
        let key = Int64(10 * step)
        switch operation {
        case 0, 1, 2:
          let space = [spaces[album], spaces[track], own][operation]
          list.append(ManagedObjectID(space: space, key: key))
          model.append(ManagedObjectID(space: space, key: key))
        case 3, 4, 5:
          let space = [spaces[album], spaces[track], own][operation - 3]
          list.append(keys: [key, key + 1], of: space)
          model += [key, key + 1].map { ManagedObjectID(space: space, key: $0) }
        default: list.append(keys: [], of: own)
        }
      }
      let areEqual = Array(list) == model && list.count == model.count
      let indexes = model.allSatisfy { list.index(of: $0) == model.firstIndex(of: $0) }
      if !areEqual || !indexes || list.hasTemporaryIDs != model.contains(where: \.isTemporaryID) {
        different.append(sequence)
      }
    }
    #expect(different.isEmpty)
  }

  @Test func `identifiers without a store come last, and equal keys follow hierarchies and then stores`() throws {
    let other = IDSpaces(store: StoreIdentifier("a store"), model: try otherModel())
    let temporary = [track.temporarySpace, album.temporarySpace].map { ManagedObjectID(space: $0, key: 1) }
    let ascending = [
      id(track, -1), id(album, 1), id(track, 1), id(album, 2), temporary[1], temporary[0],
      ManagedObjectID(space: album.temporarySpace, key: 2),
    ]
    for (index, left) in ascending.enumerated() {
      for (otherIndex, right) in ascending.enumerated() {
        #expect(ManagedObjectID.precedes(left, right) == (index < otherIndex), "\(left) and \(right)")
      }
    }
    let space = try #require(other.space(ofRoot: "Album"))
    let (first, second) = (ManagedObjectID(space: space, key: 1), id(album, 1))
    #expect(ManagedObjectID.precedes(first, second) && !ManagedObjectID.precedes(second, first))
  }

  private func otherModel() throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("Album") { Attribute("name", .string) }
      Entity("Track") { Attribute("name", .string) }
    }
  }

  // MARK: Members

  private func row(_ key: Int64, _ owner: Int64?, position: Int64? = nil, in column: MemberColumn) -> Row {
    var values = [AttributeValue](repeating: .null, count: track.slotCount)
    if let owner, let slot = column.inverse.slot { values[slot] = .reference(id(album, owner)) }
    if let position, let slot = column.positionSlot { values[slot] = .int(position) }
    return Row.make(id: id(track, key), entity: track, version: 1, values: values)
  }

  private func column(_ name: String) throws -> MemberColumn {
    guard case .inverseColumn(let inverse, let slot)? = album.relationship(named: name)?.storage else {
      throw CoherenceError(.illegalState, "The members have a column.")
    }
    return MemberColumn(entity: track, inverse: inverse, positionSlot: slot)
  }

  private func gathered(_ batches: [Row]..., in column: MemberColumn) -> (members: [Int64: [Int64]], count: Int) {
    var gathered = GatheredMembers()
    for batch in batches { gathered.add(batch, column) }
    let count = gathered.count
    var result: [ManagedObjectID: [ManagedObjectID]] = [:]
    gathered.move(into: &result)
    return (Dictionary(uniqueKeysWithValues: result.map { ($0.key, $1.map(\.key)) }), count)
  }

  @Test func `members without an order are listed by their keys, independent of the order of the reads`() throws {
    let column = try column("notes")
    #expect(column.positionSlot == nil)
    func rows(_ pairs: (Int64, Int64?)...) -> [Row] { pairs.map { row($0.0, $0.1, in: column) } }
    let sorted = gathered(rows((1, 1), (2, 1), (3, 2)), rows((4, nil), (5, 1)), in: column)
    #expect(sorted.members == [1: [1, 2, 5], 2: [3]] && sorted.count == 4)
    let mixed = gathered(rows((5, 1), (3, 2), (1, 1)), rows((9, 2), (2, 1), (4, 1)), in: column)
    #expect(mixed.members == [1: [1, 2, 4, 5], 2: [3, 9]] && mixed.count == 6)
  }

  @Test func `ordered members are listed by their positions, then by their keys, and those without a position first`()
    throws
  {
    let column = try column("tracks")
    func rows(_ triples: (Int64, Int64, Int64?)...) -> [Row] {
      triples.map { row($0.0, $0.1, position: $0.2, in: column) }
    }
    let sorted = gathered(rows((8, 1, 1), (3, 1, 2), (4, 1, 2)), in: column)
    #expect(sorted.members == [1: [8, 3, 4]])
    let mixed = gathered(
      rows((4, 1, 2), (9, 2, 5), (3, 1, 2)), rows((7, 2, 5), (8, 1, 1), (6, 1, nil), (2, 1, nil)), in: column)
    #expect(mixed.members == [1: [2, 6, 8, 3, 4], 2: [7, 9]])
  }

  // MARK: Ranges

  @Test func `a range takes the same rows from batches as from the whole list`() throws {
    let column = try column("notes")
    let rows = (0..<6).map { row(Int64($0), 1, in: column) }
    for size in [1, 2, 4, 6] {
      for offset in 0...7 {
        for limit in [nil, 0, 1, 3, 6, 9, .max] as [Int?] {
          var range = FetchRange(offset: offset, limit: limit)
          let expected = range.part(of: rows).map(\.key)
          var taken: [Int64] = []
          for start in stride(from: 0, to: rows.count, by: size) {
            #expect(range.isOpen == (limit.map { taken.count < $0 } ?? true))
            taken += range.takeNext(Array(rows[start..<min(start + size, rows.count)])).map(\.key)
          }
          #expect(taken == expected, "batches of \(size), offset \(offset), limit \(limit ?? -1)")
        }
      }
    }
  }

  // MARK: Recent objects

  private func object() -> ManagedObject { ManagedObject(entity: track, insertInto: nil) }

  @Test func `recent objects are retained up to twice the limit, and no longer`() {
    let recent = RecentObjects(limit: 2)
    weak var first: ManagedObject?
    weak var second: ManagedObject?
    weak var third: ManagedObject?
    do {
      let objects = [object(), object(), object()]
      (first, second, third) = (objects[0], objects[1], objects[2])
      for object in objects { recent.keep([object]) }
    }
    #expect(first != nil && second != nil && third != nil)
    recent.keep([object()])
    #expect(first != nil && second != nil && third != nil)
    recent.keep([object()])
    #expect(first == nil && second == nil && third != nil)
    recent.keep([object()])
    #expect(third != nil)
    recent.keep([object()])
    #expect(third == nil)
  }

  @Test func `of more objects than the limit, the last objects are retained`() {
    let recent = RecentObjects(limit: 2)
    weak var first: ManagedObject?
    weak var last: ManagedObject?
    do {
      let objects = [object(), object(), object()]
      (first, last) = (objects[0], objects[2])
      recent.keep(objects)
    }
    #expect(first == nil && last != nil)
  }

  @Test func `missing records are known during one unit of work, up to the limit`() {
    let recent = RecentObjects(limit: 2)
    let (one, two, three) = (object(), object(), object())
    #expect(recent.missing(id(track, 1), in: 0) == nil)
    recent.keep(missing: one, for: id(track, 1), in: 5)
    recent.keep(missing: two, for: id(track, 2), in: 5)
    #expect(recent.missing(id(track, 1), in: 5) === one && recent.missing(id(track, 2), in: 5) === two)
    recent.keep(missing: three, for: id(track, 3), in: 5)
    #expect(recent.missing(id(track, 1), in: 5) == nil && recent.missing(id(track, 3), in: 5) === three)
    recent.keep(missing: one, for: id(track, 1), in: 6)
    #expect(recent.missing(id(track, 3), in: 6) == nil && recent.missing(id(track, 1), in: 6) === one)
    #expect(recent.missing(id(track, 1), in: 7) == nil && recent.missing(id(track, 1), in: 6) == nil)
  }
}
