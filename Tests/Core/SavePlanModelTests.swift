import Testing

@testable import CoherenceCore
import TestRandom

/// Random saves over random content, planned and taken by an engine that checks every constraint after every row.
///
/// `COHERENCE_SEED` repeats a run.
@Suite struct SavePlanModelTests {
  private static let saves = 300

  @Test(arguments: SeededRandom.seeds)
  func `no step of a planned save breaks a constraint, and all steps together make the wanted content`(
    seed: UInt64
  ) throws {
    print("COHERENCE_SEED=\(seed)")
    var run = RandomSaves(staff: try StaffModel(), seed: seed)
    for save in 0..<Self.saves {
      let wanted = run.next()
      var engine = StrictEngine(Array(run.content.rows.values), links: run.content.links)
      do {
        try engine.take(SavePlan(wanted.changes).request)
      } catch {
        Issue.record("\(error) in save \(save) of seed \(seed).")
        return
      }
      guard wanted.content.isSame(as: engine) else {
        Issue.record("The content after save \(save) of seed \(seed) is wrong.")
        return
      }
      run.content = wanted.content
    }
  }

  @Test(arguments: SeededRandom.seeds)
  func `equal changes always have an equal plan`(seed: UInt64) throws {
    print("COHERENCE_SEED=\(seed)")
    var run = RandomSaves(staff: try StaffModel(), seed: seed)
    for _ in 0..<Self.saves / 10 {
      let wanted = run.next()
      let plans = (0..<3).map { _ in SavePlan(wanted.changes).request.steps.map(Self.text) }
      #expect(plans[0] == plans[1] && plans[1] == plans[2], "seed \(seed)")
      run.content = wanted.content
    }
  }

  /// A step with its rows and links, in their order.
  private static func text(_ step: SaveStep) -> String {
    func text(_ rows: [Row]) -> String { rows.map { "\($0.id)@\($0.version) \($0.values)" }.joined(separator: "; ") }
    switch step {
    case .unlink(let table, let links): return "unlink \(table.name) \(links)"
    case .fix(let entity, let slots, let rows): return "fix \(entity) \(Array(slots)) \(text(rows))"
    case .delete(let entity, let deletes): return "delete \(entity) \(deletes.map { "\($0.id)@\($0.baseVersion)" })"
    case .insert(let entity, let rows): return "insert \(entity) \(text(rows))"
    case .update(let entity, let slots, let updates):
      return "update \(entity) \(Array(slots)) \(updates.map(\.baseVersion)) \(text(updates.map(\.row)))"
    case .link(let table, let links): return "link \(table.name) \(links)"
    }
  }
}

/// Rows and links.
private struct Content {
  var rows: [ManagedObjectID: Row] = [:]
  var links: Set<StrictEngine.Ends> = []

  func isSame(as engine: StrictEngine) -> Bool {
    rows.count == engine.rows.count && links == engine.links
      && rows.allSatisfy { id, row in
        guard let other = engine.rows[id] else { return false }
        return other.version == row.version && other.values == row.values
      }
  }
}

/// Makes up one save after another.
private struct RandomSaves {
  let staff: StaffModel
  var content = Content()
  private var random: SeededRandom
  private var nextKey: Int64 = 1

  init(staff: StaffModel, seed: UInt64) {
    self.staff = staff
    random = SeededRandom(seed: seed)
  }

  /// The next content, and the changes that lead there from the present one.
  mutating func next() -> (content: Content, changes: RowChanges) {
    let deleted = Set(content.rows.keys.sorted(by: ManagedObjectID.precedes).filter { _ in random.isTrue(0.3) })
    var kept = content.rows.values.filter { !deleted.contains($0.id) }
      .sorted { ManagedObjectID.precedes($0.id, $1.id) }.map { (id: $0.id, entity: $0.entity) }
    let fresh = (0..<Int.random(in: 0...6, using: &random)).map { _ in freshRecord() }
    kept += fresh
    let rows = rows(of: kept)
    var next = Content()
    var changes = RowChanges()
    for row in rows.shuffled(using: &random) {
      let base = content.rows[row.id]
      if let base, base.values == row.values {
        next.rows[row.id] = base
        continue
      }
      next.rows[row.id] = row
      if let base { changes.update(base, to: row) } else { changes.insert(row) }
    }
    for id in deleted.sorted(by: ManagedObjectID.precedes).shuffled(using: &random) {
      if let row = content.rows[id] { changes.delete(row) }
    }
    next.links = links(among: kept.map(\.id))
    for ends in content.links.subtracting(next.links) {
      changes.links.remove(Link(source: ends.source, target: ends.target), from: ends.table)
    }
    for ends in next.links.subtracting(content.links) {
      changes.links.add(Link(source: ends.source, target: ends.target), to: ends.table)
    }
    return (next, changes)
  }

  private mutating func freshRecord() -> (id: ManagedObjectID, entity: EntityDescription) {
    let entity = [staff.person, staff.employee, staff.firm, staff.club][Int.random(in: 0..<4, using: &random)]
    defer { nextKey += 1 }
    return (staff.id(entity, nextKey), entity)
  }

  /// Makes rows for records, with newly distributed unique values and references among the records.
  private mutating func rows(of records: [(id: ManagedObjectID, entity: EntityDescription)]) -> [Row] {
    // So few names that records take over the values of other records in most saves.
    var names = (0..<records.count + 2).map { "\($0)" }.shuffled(using: &random)
    let persons = records.map(\.id).filter { $0.entity === staff.person }
    let firms = records.map(\.id).filter { $0.entity === staff.firm }
    return records.map { record in
      let base = content.rows[record.id]
      var values: [String: AttributeValue] = [:]
      if record.entity === staff.firm {
        values["code"] = random.isTrue(0.8) ? .string(names.removeLast()) : .null
        values["boss"] = reference(to: persons)
      } else if record.entity !== staff.club {
        values["name"] = random.isTrue(0.8) ? .string(names.removeLast()) : .null
        values["age"] = .int(Int64.random(in: 0..<2, using: &random))
        values["firm"] = reference(to: firms)
        values["mentor"] = reference(to: persons)
      }
      return staff.row(record.entity, record.id.key, version: (base?.version ?? 0) + 1, values)
    }
  }

  private mutating func reference(to ids: [ManagedObjectID]) -> AttributeValue {
    guard !ids.isEmpty, random.isTrue(0.6) else { return .null }
    return .reference(ids[Int.random(in: 0..<ids.count, using: &random)])
  }

  private mutating func links(among ids: [ManagedObjectID]) -> Set<StrictEngine.Ends> {
    let table = staff.memberships
    var result: Set<StrictEngine.Ends> = []
    for source in ids where source.entity === table.sourceRoot {
      for target in ids where target.entity === table.targetRoot && random.isTrue(0.3) {
        result.insert(StrictEngine.Ends(table: table, source: source.key, target: target.key))
      }
    }
    return result
  }
}
