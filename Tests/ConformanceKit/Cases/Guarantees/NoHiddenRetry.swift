import CoherenceCore
import Synchronization

extension ConformanceSubject {
  static let noHiddenRetry = ConformanceSubject("No hidden retry") {
    once("a lost connection", CoherenceError(.connectionLost, "The connection broke.", outcome: .unknown))
    once("a busy store", CoherenceError(.storeBusy, "The store is locked.", isRetryable: true))
    once("a full store", CoherenceError(.storeFull, "The disk is full."))
    once("a refusal by a constraint", CoherenceError(.uniquenessViolated, "The name is taken."))
    once("an error of output", CoherenceError(.inputOutput, "The disk failed.", isRetryable: true))
    conflicts
  }

  /// Core calls the store once, for every kind of error.
  private static func once(_ what: String, _ error: CoherenceError) -> Case {
    Case("after \(what) the store is not called again") { stack in
      let interposition = try stack.interpose()
      interposition.beforeSave { _ in throw error }
      try stack.read { context in
        try context.make("Genre", ["name": "Jazz"])
        try expectThrows(error.code) { try context.save() }
        try expectEqual(interposition.saveCount, 1, "the number of saves")
        interposition.beforeSave(nil)
        try context.save()
        try expectEqual(interposition.saveCount, 2, "the number of saves")
      }
      try stack.read { try expectEqual(try $0.names("Genre"), ["Jazz"]) }
    }
  }

  @CasesBuilder private static var conflicts: [Case] {
    Case("the error policy reports a conflict without another request") { stack in
      try stack.write { try $0.make("Genre", ["name": "Jazz"]) }
      let interposition = try stack.interpose()
      try stack.read { context in
        let genre = try context.one("Genre")
        try stack.write { try $0.one("Genre").setValue("Pop", for: "name") }
        try genre.setValue("Rock", for: "name")
        try expectThrows(.versionConflict) { try context.save() }
        try expectEqual(interposition.saveCount, 2, "the number of saves")
      }
    }
    Case("a merged conflict is saved by one more request") { stack in
      try stack.write { try $0.make("Genre", ["name": "Jazz"]) }
      let interposition = try stack.interpose()
      let context = stack.context(.objectTrumps)
      try context.performAndWait {
        let genre = try context.one("Genre")
        try stack.write { try $0.one("Genre").setValue("Pop", for: "name") }
        try genre.setValue("Rock", for: "name")
        try context.save()
        try expectEqual(interposition.saveCount, 3, "the number of saves")
      }
    }
    Case("a permanent conflict is reported after a limited number of requests") { stack in
      try stack.write { try $0.make("Genre", ["name": "Jazz"]) }
      let interposition = try stack.interpose()
      let context = stack.context(.objectTrumps)
      try context.performAndWait {
        let genre = try context.one("Genre")
        try genre.setValue("Rock", for: "name")
        let row = try unwrap(try stack.store.makeReader().row(genre.objectID.key, of: genre.entity.root))
        interposition.beforeSave { _ in
          throw StoreConflict.Failure(conflicts: [StoreConflict(id: row.id, storeRow: row)])
        }
        let error = try expectThrows(.versionConflict) { try context.save() }
        try expect(error.isRetryable, "an error that permits another attempt")
        try expectEqual(interposition.saveCount, 64, "the number of saves")
      }
    }
    Case("a save whose conflicts last while it keeps other writers out is repeated beside them") { stack in
      guard try stack.store is any WriterExcluding else { return }
      try stack.write { try $0.make("Genre", ["name": "Jazz"]) }
      let interposition = try stack.interpose(excludesWriters: true)
      let context = stack.context(.objectTrumps)
      try context.performAndWait {
        let genre = try context.one("Genre")
        try genre.setValue("Rock", for: "name")
        let row = try unwrap(try stack.store.makeReader().row(genre.objectID.key, of: genre.entity.root))
        let hasExcluded = Mutex(false)
        interposition.beforeSave { _ in
          let isExcluding = interposition.isExcludingWriters
          let isOver = hasExcluded.withLock { hasExcluded in
            if isExcluding { hasExcluded = true }
            return hasExcluded && !isExcluding
          }
          guard isOver else { throw StoreConflict.Failure(conflicts: [StoreConflict(id: row.id, storeRow: row)]) }
        }
        try context.save()
        interposition.beforeSave(nil)
        try expect(hasExcluded.withLock { $0 }, "attempts without other writers")
      }
      try stack.read { try expectEqual(try $0.names("Genre"), ["Rock"]) }
    }
    Case("of a constraint's refusals, one of uniqueness that changed nothing is repeated, a limited number of times") {
      stack in
      let interposition = try stack.interpose()
      let refusals: [(error: CoherenceError, saves: Int)] = [
        (CoherenceError(.danglingReference, "A target is missing."), 1),
        (CoherenceError(.uniquenessViolated, "The name is taken.", outcome: .unknown), 1),
        // No record explains the refusal: the record with the name may be deleted by now.
        (CoherenceError(.uniquenessViolated, "The name is taken."), 9),
      ]
      for (index, refusal) in refusals.enumerated() {
        let before = interposition.saveCount
        let error = refusal.error
        interposition.beforeSave { _ in throw error }
        let context = stack.context(.objectTrumps)
        try context.performAndWait {
          try context.make("Genre", ["name": "\(index)"])
          try expectThrows(error.code) { try context.save() }
        }
        try expectEqual(interposition.saveCount - before, refusal.saves, "the number of saves")
      }
    }
    Case("a save without changes asks the store for nothing") { stack in
      try stack.write { try $0.make("Genre", ["name": "Jazz"]) }
      let interposition = try stack.interpose()
      try stack.read { context in
        try context.one("Genre").load()
        try context.save()
        try expectEqual(interposition.saveCount, 0, "the number of saves")
      }
    }
  }
}
