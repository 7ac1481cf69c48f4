import TestRandom
import Testing

@testable import CoherenceCore

/// The positions of members in ordered lists, compared with the order of a plain array.
@Suite struct ListPositionsTests {
  /// A list as a store keeps it.
  private struct StoredList {
    var members: [StoredPosition]
    var version: Int64 = 1
    private(set) var writeCount = 0

    init(_ members: [StoredPosition]) { self.members = members }

    /// A list of new members, saved once.
    init(saving count: Int) throws {
      self.init(Array(repeating: .new, count: count))
      try save()
      writeCount = 0
    }

    /// A list with the positions 0, 1, 2 and so on.
    init(consecutive count: Int) { self.init((0..<count).map { .at(Int64($0)) }) }

    /// Gives the members their positions, which must rise in the order of the array.
    ///
    /// - Returns: The number of members with another position than before.
    @discardableResult
    mutating func save() throws -> Int {
      let range = ListPositions.range(atVersion: version)
      let positions = ListPositions.arranged(members, in: range)
      try #require(positions.count == members.count)
      let given = positions.drop { $0 == nil }
      try #require(given.allSatisfy { $0.map(range.contains) == true })
      try #require(zip(given, given.dropFirst()).allSatisfy { $0! < $1! })
      var count = 0
      for index in members.indices where members[index].differs(from: positions[index]) {
        members[index] = positions[index].map(StoredPosition.at) ?? .missing(key: Int64(index))
        count += 1
      }
      writeCount += count
      version += 1
      return count
    }

    mutating func move(from: Int, to: Int) { members.insert(members.remove(at: from), at: to) }
  }

  /// The length of a longest rising subsequence, by the definition.
  private static func riseLength(_ numbers: [Int64?]) -> Int {
    var lengths: [Int] = []
    for (index, number) in numbers.enumerated() {
      guard let number else {
        lengths.append(0)
        continue
      }
      let before = (0..<index).filter { numbers[$0].map { $0 < number } ?? false }
      lengths.append(1 + (before.map { lengths[$0] }.max() ?? 0))
    }
    return lengths.max() ?? 0
  }

  @Test(arguments: [Int64.min, -(1 << 40), -1, 1 << 30, .max])
  func `a list has positions also at a version and with positions that only another program writes`(version: Int64) {
    #expect(ListPositions.first(behindVersion: version) == nil)
    let range = ListPositions.range(atVersion: version)
    let positions = ListPositions.arranged([.new, .at(.max), .at(0), .at(.min)], in: range)
    #expect(positions.count == 4)
    #expect(zip(positions, positions.dropFirst()).allSatisfy { ($0 ?? .max) < ($1 ?? .min) })
  }

  @Test(arguments: SeededRandom.seeds) func `the longest rising subsequence rises and is longest`(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    for _ in 0..<300 {
      let numbers = (0..<random.next(below: 24)).map { _ in
        random.isTrue(0.2) ? nil : Int64(random.next(below: 20)) - 10
      }
      let indices = numbers.longestIncreasingSubsequence
      let rise = indices.map { numbers[$0] ?? .min }
      #expect(zip(indices, indices.dropFirst()).allSatisfy(<))
      #expect(zip(rise, rise.dropFirst()).allSatisfy(<), "\(numbers)")
      #expect(indices.count == Self.riseLength(numbers), "\(numbers)")
    }
  }

  /// Makes up to six random edits.
  private static func edit(_ list: inout StoredList, _ random: inout SeededRandom) {
    for _ in 0...random.next(below: 6) {
      let place = random.next(below: list.members.count)
      switch random.next(below: 4) {
      case 0: list.members.insert(.new, at: place)
      case 1 where list.members.count > 20: list.members.remove(at: place)
      default: list.move(from: place, to: random.next(below: list.members.count))
      }
    }
  }

  private static func keptCount(_ list: StoredList) -> Int {
    list.members.map { member -> Int64? in if case .at(let position) = member { position } else { nil } }
      .longestIncreasingSubsequence.count
  }

  @Test(arguments: SeededRandom.seeds)
  func `a save after random edits changes no member that a longest rising subsequence keeps`(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    for _ in 0..<30 {
      var list = try StoredList(saving: 40)
      // The gaps of a new list are wide enough for the edits of five saves.
      for _ in 0..<5 {
        Self.edit(&list, &random)
        let least = list.members.count - Self.keptCount(list)
        let count = try list.save()
        #expect(count == least, "\(list.members)")
      }
    }
  }

  @Test(arguments: SeededRandom.seeds)
  func `many saves of random edits change few more members than necessary`(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    var list = try StoredList(saving: 40)
    var least = 0
    for _ in 0..<400 {
      Self.edit(&list, &random)
      least += list.members.count - Self.keptCount(list)
      try list.save()
    }
    #expect(list.writeCount < 2 * least, "\(list.writeCount) writes, \(least) necessary")
  }

  @Test(arguments: [true, false])
  func `inserts at the same place change few other members on average`(growsBehind: Bool) throws {
    var list = try StoredList(saving: 300)
    for number in 0..<3_000 {
      list.members.insert(.new, at: growsBehind ? min(100 + number, 250) : 50)
      // The list keeps its length, so that the test is short.
      if growsBehind { list.members.removeFirst() } else { list.members.removeLast() }
      // The version stays, so that the range of positions does not grow.
      list.version = 1
      try list.save()
    }
    #expect(list.writeCount < 45_000, "\(list.writeCount) writes")
  }

  @Test func `inserts and moves at the ends change one member each`() throws {
    for var list in [try StoredList(saving: 500), StoredList(consecutive: 500)] {
      for number in 0..<1_000 {
        switch number % 4 {
        case 0: list.members.insert(.new, at: 0)
        case 1: list.members.append(.new)
        case 2: list.move(from: 0, to: list.members.count - 1)
        default: list.move(from: list.members.count - 1, to: 0)
        }
        let count = try list.save()
        #expect(count == 1)
      }
    }
  }

  @Test func `a move into the middle of consecutive positions makes gaps for the next moves`() throws {
    var list = StoredList(consecutive: 1_000)
    list.move(from: 999, to: 500)
    try list.save()
    for number in 0..<100 {
      list.move(from: 999, to: 3 + 9 * number)
      let count = try list.save()
      #expect(count == 1)
    }
  }

  @Test func `members without positions stay without them at the front of the list`() throws {
    var list = StoredList((0..<100).map { .missing(key: $0) })
    var count = try list.save()
    #expect(count == 0)
    list.move(from: 60, to: 99)
    count = try list.save()
    #expect(count == 1)
    #expect(list.members.first == .missing(key: 0) && list.members[98] == .missing(key: 99))
    // Only a position brings a member behind others without one, and members without positions come first.
    list.move(from: 0, to: 50)
    count = try list.save()
    #expect(count == 49)
    list.move(from: 99, to: 0)
    try list.save()
    count = try list.save()
    #expect(count == 0)
  }

  @Test func `equal positions are separated by the first change of the list`() throws {
    var list = StoredList([.at(5), .at(5), .at(5), .at(9)])
    try list.save()
    let count = try list.save()
    #expect(count == 0)
  }

  @Test func `a full range of positions still holds its members`() {
    let positions = ListPositions.arranged(
      [.at(3), .new, .at(0), .new, .at(7), .at(1), .new, .new], in: 0..<8)
    #expect(positions == [0, 1, 2, 3, 4, 5, 6, 7])
  }

  @Test func `positions at the bounds of the range overflow nothing`() throws {
    let range = ListPositions.range(atVersion: .max)
    let bounds = [range.lowerBound, range.upperBound - 1]
    for members in [
      [.new, .at(bounds[0]), .at(bounds[1]), .new], [.at(bounds[1]), .at(bounds[0])],
      [.at(.min), .at(.max), .new, .at(0)], [.at(bounds[0]), .new, .at(bounds[1])],
    ] as [[StoredPosition]] {
      let positions = ListPositions.arranged(members, in: range).compactMap { $0 }
      #expect(positions.count == members.count && positions.allSatisfy(range.contains))
      #expect(zip(positions, positions.dropFirst()).allSatisfy(<))
    }
  }

  @Test func `members that one save appends lie before the members of the next save`() throws {
    for count in [0, 1, 3, 70_000] {
      let first = try #require(ListPositions.first(behindVersion: 4))
      let positions = ListPositions.appended(count, from: first)
      #expect(positions.count == count && zip(positions, positions.dropFirst()).allSatisfy(<))
      #expect(try #require(ListPositions.first(behindVersion: 5)) > positions.last ?? first)
    }
  }
}
