import CoherenceCore
import CoherenceSQL
@testable import CoherenceSQLite
import Dispatch
import Foundation
import TestSupport
import Testing

/// Queries the settings of the writing connection, because each connection has its own settings.
@Suite struct DurabilityTests {
  private let place: TemporaryStore
  private let model: ManagedObjectModel

  init() throws {
    place = try TemporaryStore()
    model = try ManagedObjectModel { Entity("Thing") { Attribute("name", .string) } }
  }

  /// SQLite's synchronous mode of the writing connection: 0 is off, 1 normal, 2 full.
  private func setting(of store: any PersistentStore) throws -> [Int64] {
    let store = try #require(store as? SQLiteStore)
    return try store.write { try $0.integers("PRAGMA synchronous") }
  }

  @Test func `a save waits for the disk by default`() throws {
    let store = try place.open(model)
    #expect(try setting(of: store) == [2])
    try store.insert("Thing", ["name": .string("a")])
    #expect(try setting(of: store) == [2])
  }

  @Test(arguments: [("full", 2), ("normal", 1), ("off", 0)] as [(String, Int64)])
  func `an option sets the synchronous mode of a connection`(mode: String, number: Int64) throws {
    #expect(try setting(of: place.open(model, options: [SQLiteOption.synchronous: .string(mode)])) == [number])
  }

  @Test func `of two stores on one file the stricter durability applies`() throws {
    let lax = try place.open(model, options: [SQLiteOption.synchronous: "off"])
    #expect(try setting(of: lax) == [0])
    let strict = try place.open(model)
    #expect(try setting(of: lax) == [2])
    let third = try place.open(model, options: [SQLiteOption.synchronous: "normal"])
    #expect(try setting(of: third) == [2])
    #expect(try setting(of: strict) == [2])
  }

  @Test func `a thread that excludes other writers opens the file while another thread waits with a stricter option`()
    throws
  {
    let lax: [String: OptionValue] = [SQLiteOption.synchronous: "off"]
    let store = try #require(try place.open(model, options: lax) as? SQLiteStore)
    let strict = place.environment(model)
    let hasOpened = DispatchSemaphore(value: 0)
    try store.excludingWriters {
      Thread.detachNewThread {
        _ = try? SQLiteStoreFactory().open(strict)
        hasOpened.signal()
      }
      // The other thread begins to wait during one of these openings.
      for _ in 0..<100 { try place.open(model, options: lax).close() }
    }
    hasOpened.wait()
    #expect(try setting(of: store) == [2])
  }
}
