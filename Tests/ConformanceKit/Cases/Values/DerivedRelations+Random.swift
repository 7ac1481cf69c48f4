import CoherenceCore
import Foundation

// Random saves against a plain computation from the records.

extension ConformanceSubject {
  @CasesBuilder static var derivedAtRandom: [Case] {
    deriving("derived values equal a plain computation after random saves") { stack in
      let given = ProcessInfo.processInfo.environment["COHERENCE_SEED"]
      let seed = given.flatMap(UInt64.init) ?? UInt64.random(in: 0...UInt64.max)
      var random = SplitMix64(seed: seed)
      let context = stack.context(.objectTrumps)
      for step in 0..<40 {
        do {
          try context.performAndWait {
            for _ in 0...random.number(0...4) { try changeAtRandom(context, &random) }
            try context.save()
          }
          if random.chance(20) { try context.performAndWait { try batchAtRandom(context, &random) } }
          try checkDerived(stack)
        } catch {
          throw ConformanceFailure("COHERENCE_SEED=\(seed), step \(step): \(error)")
        }
      }
    }
  }

  private static func changeAtRandom(_ context: ManagedObjectContext, _ random: inout SplitMix64) throws {
    let entities = ["Singer", "Record", "LiveRecord", "Song", "Song", "Song", "Label"]
    let records = try context.all("Record")
    let songs = try context.all("Song")
    switch random.number(0...9) {
    case 0...2: try context.make(random.pick(entities), ["name": "n\(random.number(0...99))"])
    case 3:
      let all = try context.all(random.pick(["Singer", "Record", "Song", "Label"]))
      if all.count > 3 { context.delete(random.pick(all)) }
    case 4:
      let named = try context.all(random.pick(["Singer", "Record", "Song"]))
      if !named.isEmpty { try random.pick(named).setValue("n\(random.number(0...99))", for: "name") }
    case 5, 6:
      guard !songs.isEmpty else { return }
      let song = random.pick(songs)
      try song.setValue(random.chance(20) ? nil : Int32(random.number(-5...5)), for: "length")
      try song.setValue(Decimal(random.number(0...999)) / 100, for: "price")
      try song.setObject(records.isEmpty || random.chance(20) ? nil : random.pick(records), for: "record")
      try song.setObject(random.chance(50) ? nil : random.pick(songs), for: "original")
    case 7:
      let singers = try context.all("Singer")
      guard !records.isEmpty, !singers.isEmpty else { return }
      let record = random.pick(records)
      try record.setObject(random.chance(20) ? nil : random.pick(singers), for: "singer")
      try record.setObjects(random.some(singers, upTo: 3), for: "guests")
    case 8:
      guard !records.isEmpty else { return }
      try random.pick(records).setObjects(random.some(try context.all("Label"), upTo: 3), for: "labels")
    default:
      let lives = try context.all("LiveRecord")
      let labels = try context.all("Label")
      if !lives.isEmpty { try random.pick(lives).setObjects(random.some(songs, upTo: 3), for: "encores") }
      if !labels.isEmpty { try random.pick(labels).setValue(Double(random.number(0...8)) / 4, for: "weight") }
    }
  }

  private static func batchAtRandom(_ context: ManagedObjectContext, _ random: inout SplitMix64) throws {
    let condition = compare("name", .less, "n\(random.number(0...99))")
    switch random.number(0...2) {
    case 0:
      try context.execute(
        BatchUpdateRequest(entityName: "Song", predicate: condition, values: ["length": random.number(0...9)]))
    case 1: try context.execute(BatchUpdateRequest(entityName: "Singer", predicate: condition, values: ["name": "b"]))
    default: try context.execute(BatchDeleteRequest(entityName: "Song", predicate: equal("length", 3)))
    }
  }
}
