import CoherenceCore
import Foundation
import TestSupport
import Testing

@testable import CoherenceSQLite

/// The move of a store's files to another name, by a process that is killed.
@Suite struct FileMoveTests {
  private let place: TemporaryStore
  private let model: ManagedObjectModel
  private let move: SQLiteFileMove

  init() throws {
    place = try TemporaryStore()
    model = try ManagedObjectModel { Entity("Thing") { Attribute("name", .string) } }
    move = SQLiteFileMove(path: place.path, target: place.path + ".aside")
    // The files of a store that was never closed: its last commit is in the log.
    let origin = try TemporaryStore()
    let store = try origin.open(model)
    try store.insert("Thing", ["name": .string("a")])
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: origin.path + suffix, toPath: place.path + suffix)
    }
    // The files of the origin stay until the store is closed.
    withExtendedLifetime(origin) { store.close() }
  }

  private func names(at path: String) throws -> [AttributeValue] {
    let environment = StoreEnvironment(type: .sqlite, url: URL(fileURLWithPath: path), model: model)
    let store = try SQLiteStoreFactory().open(environment)
    defer { store.close() }
    return try store.fetch("Thing").map { $0["name"] }
  }

  @Test(arguments: 0...SQLiteFileMove.Step.allCases.count)
  func `a move that ends after any step keeps the commits in the log, and frees the former name or changes nothing`(
    count: Int
  ) throws {
    for step in SQLiteFileMove.Step.allCases.prefix(count) { try move.perform(step) }
    let isMoved = FileManager.default.fileExists(atPath: move.target)
    #expect(FileManager.default.fileExists(atPath: move.path) == !isMoved)
    if isMoved { #expect(try names(at: move.path).isEmpty) }
    #expect(try names(at: isMoved ? move.target : move.path) == [.string("a")])
  }

  @Test func `an interrupted move can be repeated, and leaves no file at the former name`() throws {
    try move.perform(.nameLog)
    try move.run()
    for suffix in ["", "-wal", "-shm"] { #expect(!FileManager.default.fileExists(atPath: move.path + suffix)) }
    #expect(try names(at: move.target) == [.string("a")])
  }

  @Test func `the log of an interrupted move is not applied to a later database`() throws {
    try move.perform(.nameLog)
    for name in ["b", "c"] {
      let store = try place.open(model)
      try store.insert("Thing", ["name": .string(name)])
      store.close()
      // The close has removed the log.
      #expect(!SQLiteFile.isOpen(path: move.path))
    }
    try move.run()
    #expect(try names(at: move.target) == ["a", "b", "c"].map(AttributeValue.string))
  }
}
