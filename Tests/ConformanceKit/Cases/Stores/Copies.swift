import CoherenceCore
import Foundation

/// Copies of stores that are in use.
extension ConformanceSubject {
  static let copies = ConformanceSubject("Copies") {
    Case("a copy of a store has the saves before it, and a store that does not copy itself refuses by code") { stack in
      try stack.write { try $0.make("Genre", ["name": "Jazz"]) }
      let store = try stack.store
      let location = try stack.makeLocation()
      guard store is any StoreCopying else {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("copy-\(UUID().uuidString)")
        try expectThrows(.unsupported) { try stack.coordinator.copy(store, to: url) }
        try expect(!FileManager.default.fileExists(atPath: url.path), "no file at the location of the copy")
        return
      }
      let url = try unwrap(location.url, "the location of a copy")
      let identifier = store.identifier
      let context = stack.context()
      try context.performAndWait {
        try context.make("Genre", ["name": "unsaved"])
        try stack.coordinator.copy(store, to: url)
        context.rollback()
      }
      try stack.write { try $0.make("Genre", ["name": "Pop"]) }
      try stack.read { try expectEqual(try $0.names("Genre"), ["Jazz", "Pop"]) }

      try stack.reopen(at: location)
      try expectEqual(try stack.store.identifier, identifier)
      try stack.read { try expectEqual(try $0.names("Genre"), ["Jazz"]) }
      try stack.write { try $0.make("Genre", ["name": "Rock"]) }
      try stack.read { try expectEqual(try $0.names("Genre"), ["Jazz", "Rock"]) }
    }
    Case("a copy over a store is refused, and leaves that store as it is") { stack in
      let store = try stack.store
      guard store is any StoreCopying else { return }
      let location = try stack.makeLocation()
      let url = try unwrap(location.url, "the location of a copy")
      try stack.write { try $0.make("Genre", ["name": "Jazz"]) }
      try stack.coordinator.copy(store, to: url)
      try stack.write { try $0.make("Genre", ["name": "Pop"]) }
      try expectThrows(.storeInaccessible) { try stack.coordinator.copy(store, to: url) }
      let own = try unwrap(store.url, "the location of the store")
      try expectThrows(.storeInaccessible) { try stack.coordinator.copy(store, to: own) }
      try stack.read { try expectEqual(try $0.names("Genre"), ["Jazz", "Pop"]) }
      try stack.reopen(at: location)
      try stack.read { try expectEqual(try $0.names("Genre"), ["Jazz"]) }
    }
  }
}
