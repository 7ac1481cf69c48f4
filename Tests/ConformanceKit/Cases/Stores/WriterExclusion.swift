import CoherenceCore
import Foundation
import Synchronization

extension ConformanceSubject {
  /// For stores with the capability to exclude other writers.
  static let writerExclusion = ConformanceSubject("Writer exclusion") {
    savesWithin
    otherWriters
  }

  @CasesBuilder private static var savesWithin: [Case] {
    Case("saves in a block that excludes other writers are committed") { stack in
      guard let store = try stack.store as? any WriterExcluding else { return }
      try store.excludingWriters {
        try stack.write { try $0.make("Genre", ["name": "jazz"]) }
        try stack.write { try $0.make("Genre", ["name": "rock"]) }
      }
      try expectEqual(try names(stack), ["jazz", "rock"])
    }
    Case("a refused save changes nothing, and the next save in the block is committed") { stack in
      guard let store = try stack.store as? any WriterExcluding else { return }
      try stack.write { try $0.make("Genre", ["name": "jazz"]) }
      try store.excludingWriters {
        try expectThrows(.uniquenessViolated) {
          try stack.write { context in for name in ["pop", "jazz"] { try context.make("Genre", ["name": name]) } }
        }
        try expectEqual(try names(stack), ["jazz"])
        try stack.write { try $0.make("Genre", ["name": "rock"]) }
      }
      try stack.write { try $0.make("Genre", ["name": "soul"]) }
      try expectEqual(try names(stack), ["jazz", "rock", "soul"])
    }
    Case("batch requests in a block that excludes other writers are committed", model: Venues.model) { stack in
      guard let store = try stack.store as? any WriterExcluding else { return }
      func add(_ number: Int64) -> BatchUpdateRequest {
        BatchUpdateRequest(
          entityName: "Seat", expressions: ["number": .sum(.attribute("number"), .value(.int(number)))])
      }
      let requests: [(ManagedObjectContext) throws -> Int] = [
        { context in
          let rows: [[String: AttributeValue]] = [["number": .int(1)]]
          let request = BatchInsertRequest(entityName: "Seat", rows: rows, onDuplicate: .update(by: "number"))
          return try context.execute(request).inserted.count
        },
        { context in
          _ = try expectThrows(.invalidValue) { try context.execute(add(.max)) }
          return try context.execute(add(1)).count
        },
        { try $0.execute(BatchUpdateRequest(entityName: "Seat", values: ["name": "a"])).count },
        { try $0.execute(BatchDeleteRequest(entityName: "Seat", predicate: equal("number", 2))).count },
      ]
      for (index, request) in requests.enumerated() {
        try store.excludingWriters {
          try expectEqual(try stack.read(request), 1, "the records of request \(index)")
          try stack.write { try $0.make("Venue", ["name": "\(index)"]) }
        }
      }
      try expectEqual(try stack.read { try [$0.number(of: "Seat"), $0.number(of: "Venue")] }, [0, 4])
    }
    Case("a block that excludes other writers and saves nothing does not cause a key to be allocated twice") { stack in
      guard let store = try stack.store as? any WriterExcluding else { return }
      let context = stack.context()
      try context.performAndWait {
        let genre = try context.make("Genre", ["name": "jazz"])
        try store.excludingWriters { try context.obtainPermanentIDs(for: [genre]) }
        try stack.write { context in for name in ["rock", "soul"] { try context.make("Genre", ["name": name]) } }
        try context.save()
      }
      try expectEqual(try names(stack), ["jazz", "rock", "soul"])
    }
    Case("a conflict in a block that excludes other writers is resolved in the block") { stack in
      guard let store = try stack.store as? any WriterExcluding else { return }
      try stack.write { try $0.make("Album", ["title": "A", "year": 1]) }
      let context = stack.context(.objectTrumps)
      try context.performAndWait {
        let album = try context.one("Album")
        try stack.write { try $0.one("Album").setValue(2, for: "year") }
        try album.setValue("mine", for: "title")
        try store.excludingWriters { try context.save() }
      }
      try stack.read { try expectEqual(try $0.one("Album", where: equal("year", 2)).label, "mine") }
    }
  }

  @CasesBuilder private static var otherWriters: [Case] {
    Case("another writer saves after the save of the thread that keeps writers out") { stack in
      guard let store = try stack.store as? any WriterExcluding else { return }
      try stack.write { try $0.make("Album", ["title": "A", "year": 1]) }
      try expectEqual(try codeOfOtherSave(stack, store), .versionConflict, "the other save's error")
      try stack.read { try expectEqual(try $0.one("Album").label, "first") }
    }
  }

  /// Saves an album, after another thread with the same album began to.
  ///
  /// - Returns: The code of the error of the other thread's save.
  private static func codeOfOtherSave(_ stack: ConformanceStack, _ store: any WriterExcluding) throws -> ErrorCode? {
    let (begun, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let code = Mutex<ErrorCode?>(nil)
    try store.excludingWriters {
      Thread.detachNewThread {
        do {
          try stack.read { context in
            try context.one("Album").setValue("second", for: "title")
            begun.signal()
            try context.save()
          }
        } catch {
          code.withLock { $0 = (error as? CoherenceError)?.code }
        }
        ended.signal()
      }
      begun.wait()
      try stack.write { try $0.one("Album").setValue("first", for: "title") }
    }
    ended.wait()
    return code.withLock { $0 }
  }

  private static func names(_ stack: ConformanceStack) throws -> [String] {
    try stack.read { try $0.names("Genre", sort: [SortKey("name")]) }
  }
}
