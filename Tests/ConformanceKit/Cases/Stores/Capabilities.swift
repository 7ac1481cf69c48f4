import CoherenceCore
import Foundation

extension ConformanceSubject {
  /// A capability is a promise: each case asks for the promise that the store makes.
  static let capabilities = ConformanceSubject("Capabilities") {
    Case("each capability has a bit of its own") { _ in
      let all: [StoreCapabilities] = [.durable, .shared, .concurrentReads, .file]
      for (index, capability) in all.enumerated() {
        try expectEqual(capability.rawValue.nonzeroBitCount, 1)
        for other in all[(index + 1)...] { try expect(capability.isDisjoint(with: other), "no common bit") }
      }
    }
    Case("a store calls itself a file exactly when its type uses files") { stack in
      let store = try stack.store
      let factory = try StoreRegistry.current.factory(for: stack.location.type)
      try expectEqual(store.capabilities.contains(.file), factory.usesFiles)
      if factory.usesFiles { try expect(store.url?.isFileURL == true, "the URL of a file") }
    }
    Case("a reader of a store with concurrent reads continues while a save runs") { stack in
      try stack.write { context in
        for index in 0..<600 { try context.make("Track", ["title": "old", "length": index]) }
      }
      let store = try stack.store
      guard store.capabilities.contains(.concurrentReads) else { return }
      let entity = try stack.model.entity(named: "Track")
      let reader = try store.makeReader()
      defer { reader.finish() }
      let fetch = try reader.fetch(StoreQuery(entity: entity))
      var rows: [Row] = []
      try expect(try fetch.cursor.next(into: &rows), "rows before the save")
      // Inserts read nothing: a small pool has no connection for a second reader.
      try stack.write { context in
        for index in 0..<100 { try context.make("Track", ["title": "new", "length": index]) }
      }
      while try fetch.cursor.next(into: &rows) {}
      let title = try unwrap(entity.attribute(named: "title")).slot
      try expectEqual(rows.count, 600)
      try expect(rows.allSatisfy { $0[title] == .string("old") }, "the state before the save")
    }
  }
}
