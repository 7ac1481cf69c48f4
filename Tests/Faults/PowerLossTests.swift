@testable import CoherenceConformance
import CoherenceCore
@testable import CoherenceSQLite
import Foundation
import Testing

/// A power failure at any moment leaves every acknowledged save, and no save in parts.
@Suite struct PowerLossTests {
  /// A disk after deposits, checkpoints among them, and a close in the middle.
  private func usedDisk(synchronous: String, saves: Int = 30) throws -> Disk {
    let directory = try TemporaryDirectory()
    let disk = Disk(directory)
    for half in 0..<2 {
      let ledger = try Ledger(
        type: .sqlite, at: directory.store, options: [SQLiteOption.synchronous: .string(synchronous)])
      // Frequent checkpoints let the power fail during checkpoints too.
      try #require(ledger.store as? SQLiteStore).write { try $0.execute("PRAGMA wal_autocheckpoint = 12") }
      for _ in 0..<(saves / 2) {
        try ledger.save()
        disk.acknowledge()
      }
      if half == 0 { try ledger.close() }
    }
    return disk
  }

  /// Counts the saves on an image of the disk.
  private func saves(on image: DiskImage) throws -> Int {
    let directory = try TemporaryDirectory()
    try image.write(to: directory)
    let ledger = try Ledger(type: .sqlite, at: directory.store)
    defer { try? ledger.close() }
    let complaints = try ledger.complaints()
    guard complaints == ["ok"] else { throw TornSave(description: complaints.joined(separator: "; ")) }
    return try ledger.audit()
  }

  @Test func `an acknowledged save survives a power failure`() throws {
    let disk = try usedDisk(synchronous: "full")
    var random = SplitMix64(seed: Effort.seed())
    for _ in 0..<Effort.rounds(150) {
      let entry = random.number(0...disk.length)
      let loss = random.pick(DiskImage.Loss.allCases)
      let acknowledged = disk.acknowledgements(before: entry)
      let found = try saves(on: DiskImage(of: disk, after: entry, losing: loss, &random))
      #expect(
        (acknowledged...acknowledged + 1).contains(found),
        "\(acknowledged) were acknowledged, \(found) found at \(entry) losing \(loss)")
    }
  }

  @Test func `a simulated power failure loses a save that does not wait for the disk`() throws {
    for mode in ["normal", "off"] {
      let disk = try usedDisk(synchronous: mode)
      var random = SplitMix64(seed: 1)
      let losses = stride(from: disk.length / 2, to: disk.length, by: max(1, disk.length / 20)).count { entry in
        let image = DiskImage(of: disk, after: entry, losing: .everything, &random)
        let found = try? saves(on: image)
        return found.map { $0 < disk.acknowledgements(before: entry) } ?? true
      }
      #expect(losses > 0, "With synchronous=\(mode), nothing was lost.")
    }
  }

  @Test func `every save waits for the disk`() throws {
    let directory = try TemporaryDirectory()
    let disk = Disk(directory)
    let ledger = try Ledger(type: .sqlite, at: directory.store)
    for _ in 0..<10 {
      let before = disk.syncs
      try ledger.save()
      #expect(disk.syncs > before)
    }
  }
}
