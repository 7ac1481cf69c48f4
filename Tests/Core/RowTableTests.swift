import TestRandom
import Testing

@testable import CoherenceCore

/// The table of shared rows beside a model of it, in all short sequences of sharing, entering and releasing rows of one
/// record.
@Suite("The table of shared rows")
struct RowTableTests {
  private let staff: StaffModel

  init() throws { staff = try StaffModel() }

  /// The retained rows, and the row that the table should know.
  private struct Stage {
    let staff: StaffModel
    let table: RowTable
    let key: Int64
    private(set) var held: [Row] = []
    private var known: (identity: ObjectIdentifier, version: Int64)?
    /// Whether every sharing has returned the expected row.
    private(set) var isRight = true

    init(_ staff: StaffModel, key: Int64) {
      self.staff = staff
      self.key = key
      table = staff.id(staff.firm, key).space.rows
    }

    /// Operations 0 to 2 share a row of a version, 3 to 5 enter one, and 6 to 8 release one.
    mutating func run(_ operation: Int) {
      switch operation {
      case 0...2: share(version: Int64(operation + 1))
      case 3...5: enter(version: Int64(operation - 2))
      case 6: if !held.isEmpty { held.removeFirst() }
      case 7: if !held.isEmpty { held.removeLast() }
      default: if !held.isEmpty { held.remove(at: held.count / 2) }
      }
      // A released row leaves the table.
      if let known, !held.contains(where: { ObjectIdentifier($0.storage) == known.identity }) { self.known = nil }
    }

    private mutating func share(version: Int64) {
      var rows = [staff.row(staff.firm, key, version: version, ["code": .string("version \(version)")])]
      let own = ObjectIdentifier(rows[0].storage)
      table.share(&rows)
      let expected = known.map { $0.version == version ? $0.identity : own } ?? own
      if ObjectIdentifier(rows[0].storage) != expected { isRight = false }
      if (known?.version ?? 0) <= version { known = (expected, version) }
      held += rows
    }

    private mutating func enter(version: Int64) {
      let row = staff.row(staff.firm, key, version: version)
      Row.enter([row])
      if (known?.version ?? 0) < version { known = (ObjectIdentifier(row.storage), version) }
      held.append(row)
    }

    /// Whether the table knows the expected row, and none once all rows are released.
    mutating func agreesAndReleases() -> Bool {
      table.checkInvariants()
      guard isRight, table.row(key).map({ ObjectIdentifier($0.storage) }) == known?.identity else { return false }
      if let known, table.row(key)?.version != known.version { return false }
      held = []
      return table.row(key) == nil
    }
  }

  /// Shares a new row of one record and one version.
  private func share(in table: RowTable) -> Row {
    var rows = [staff.row(staff.firm, 7, version: 1, ["code": .string("a")])]
    table.share(&rows)
    return rows[0]
  }

  @Test func `the contexts of a store share rows, and those of its copy or of its replaced content do not`() {
    let table = staff.id(staff.firm, 7).space.rows
    table.noteStore(at: 1, isAttachedElsewhere: false)
    let first = share(in: table)
    table.noteStore(at: 1, isAttachedElsewhere: true)
    #expect(share(in: table).isIdentical(to: first))
    table.noteStore(at: 1, isAttachedElsewhere: false)
    let later = share(in: table)
    #expect(!later.isIdentical(to: first))
    table.noteStore(at: 2, isAttachedElsewhere: true)
    let copied = share(in: table)
    Row.enter([copied])
    #expect(!copied.isIdentical(to: later) && table.row(7) == nil)
    table.checkInvariants()
    withExtendedLifetime((first, later, copied)) {}
  }

  @Test func `a store that is attached alone after its copy was detached shares rows again`() {
    let table = staff.id(staff.firm, 7).space.rows
    table.noteStore(at: 1, isAttachedElsewhere: false)
    table.noteStore(at: 2, isAttachedElsewhere: true)
    let copied = share(in: table)
    #expect(!share(in: table).isIdentical(to: copied))
    table.noteStore(at: 2, isAttachedElsewhere: false)
    let alone = share(in: table)
    #expect(!alone.isIdentical(to: copied))
    #expect(share(in: table).isIdentical(to: alone))
    table.checkInvariants()
    withExtendedLifetime((copied, alone)) {}
  }

  @Test func `the table knows the newest row in use after every sequence of up to five operations`() {
    var different: [[Int]] = []
    forEachSequence(of: 9, upTo: 5) { sequence in
      var stage = Stage(staff, key: 7)
      for operation in sequence { stage.run(operation) }
      if !stage.agreesAndReleases() { different.append(sequence) }
    }
    #expect(different.isEmpty)
  }

  @Test(arguments: SeededRandom.seeds)
  func `the table knows the newest rows in use of many records after thousands of operations`(seed: UInt64) {
    print("COHERENCE_SEED=\(seed)")
    var random = SeededRandom(seed: seed)
    var stages = (0..<100).map { Stage(staff, key: $0 * 3) }
    for _ in 0..<10_000 {
      let index = Int.random(in: 0..<100, using: &random)
      stages[index].run(Int.random(in: 0..<9, using: &random))
    }
    for index in stages.indices {
      let agrees = stages[index].agreesAndReleases()
      #expect(agrees, "The key is \(stages[index].key).")
    }
  }
}
