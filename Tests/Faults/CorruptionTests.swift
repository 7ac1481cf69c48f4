@testable import CoherenceConformance
import CoherenceCore
import CoherenceSQLite
import Foundation
import Testing

/// Opening and reading a damaged file throws a typed error or returns the intact records. It never crashes and never
/// damages the file further.
@Suite struct CorruptionTests {
  /// The kinds of damage to a file.
  private enum Damage: CaseIterable {
    case flippedBits, zeroedPage, swappedPages, truncation, foreignPage

    func apply(to content: [UInt8], _ random: inout SplitMix64) -> [UInt8] {
      let page = 4096
      let pages = content.count / page
      var content = content
      switch self {
      case .flippedBits:
        for _ in 0..<random.number(1...8) {
          content[random.number(0...(content.count - 1))] ^= UInt8(1 << random.number(0...7))
        }
      case .zeroedPage:
        let start = random.number(0...(pages - 1)) * page
        content.replaceSubrange(start..<start + page, with: [UInt8](repeating: 0, count: page))
      case .swappedPages:
        let (one, other) = (random.number(0...(pages - 1)) * page, random.number(0...(pages - 1)) * page)
        for index in 0..<page { content.swapAt(one + index, other + index) }
      case .truncation: content = Array(content.prefix(random.number(0...(content.count - 1))))
      case .foreignPage:
        let start = random.number(0...(pages - 1)) * page
        content.replaceSubrange(start..<start + page, with: (0..<page).map { _ in UInt8(random.number(0...255)) })
      }
      return content
    }
  }

  private static func wholeFile() throws -> [UInt8] {
    let directory = try TemporaryDirectory()
    let ledger = try Ledger(type: .sqlite, at: directory.store)
    for _ in 0..<30 { try ledger.save() }
    try ledger.close()
    return Array(try Data(contentsOf: directory.store))
  }

  @Test func `a damaged file is refused or read, never a crash, and not made worse`() async throws {
    await #expect(processExitsWith: .success) {
      [seed = Effort.seed() as UInt64, rounds = Effort.rounds(250) as Int] in
      let whole = try Self.wholeFile()
      var random = SplitMix64(seed: seed)
      var refusals = 0
      for round in 0..<rounds {
        let damage = random.pick(Damage.allCases)
        let content = damage.apply(to: whole, &random)
        let directory = try TemporaryDirectory()
        try Data(content).write(to: directory.store)
        var isAttached = false
        do {
          let ledger = try Ledger(type: .sqlite, at: directory.store)
          isAttached = true
          _ = try ledger.audit()
        } catch let error as CoherenceError {
          refusals += 1
          #expect(Self.admitted.contains(error.code), "\(error) after \(damage) in round \(round) of \(seed)")
        } catch is TornSave {
          // The damage is in the values, so that the store returns a wrong value or misses a record.
        }
        // A damaged file can look like a store of another model, or like an empty file, in which the store makes its
        // tables.
        if isAttached { continue }
        let left = Array(try Data(contentsOf: directory.store))
        #expect(left == content, "The file was changed after \(damage) in round \(round) of \(seed)")
      }
      #expect(refusals > rounds / 5)
    }
  }

  private static let admitted: Set<ErrorCode> = [
    // A value that became null.
    .wrongType,
    .storeCorrupt, .schemaChanged, .unsupported, .notADatabase, .inputOutput, .incompatibleModel, .storeInaccessible,
    .objectNotFound,
  ]

  @Test func `a damaged log is left out from its damage on`() throws {
    let directory = try TemporaryDirectory()
    let disk = Disk(directory)
    let ledger = try Ledger(type: .sqlite, at: directory.store)
    for _ in 0..<12 { try ledger.save() }
    var random = SplitMix64(seed: Effort.seed())
    let image = DiskImage(of: disk, after: disk.length, losing: .nothing, &random)
    for _ in 0..<Effort.rounds(40) {
      let copy = try TemporaryDirectory()
      try image.write(to: copy)
      var log = try #require(image.files["store.sqlite-wal"])
      log[random.number(0...(log.count - 1))] ^= UInt8(1 << random.number(0...7))
      try Data(log).write(to: copy.url.appendingPathComponent("store.sqlite-wal"))
      let reopened = try Ledger(type: .sqlite, at: copy.store)
      #expect(try (0...12).contains(reopened.audit()))
      #expect(try reopened.complaints() == ["ok"])
    }
  }
}
