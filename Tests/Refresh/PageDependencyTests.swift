import CoherenceActions
import CoherenceCore
import CoherenceRefresh
import CoherenceStrategies
import Foundation
import Synchronization
import TestSupport
import Testing

/// Pages of changes that depend on later pages, on other entities and on pending edits.
@Suite("The dependencies of pages of changes", .timeLimit(.minutes(15)))
struct PageDependencyTests {
  /// A source of one pending edit.
  private final class SinglePendingEdit: PendingEdits {
    private let edit = Mutex<PendingEdit?>(nil)
    private let entityName: String

    /// - Parameter entityName: The entity of the record.
    init(of entityName: String) { self.entityName = entityName }

    func set(_ edit: PendingEdit?) { self.edit.withLock { $0 = edit } }

    func covers(_ entity: EntityDescription) -> Bool { entity.name == entityName }

    func pendingEdits(_ query: PendingEditsQuery, in context: ManagedObjectContext) -> [PendingEdit] {
      edit.withLock { edit in edit.map { query.entity.name == entityName ? [$0] : [] } ?? [] }
    }

    func carryOut(_ decisions: [PendingDecision], in context: ManagedObjectContext) {}
  }

  /// A program with tracks of albums, whose codes are unique.
  private struct Library {
    let directory = TemporaryDirectory()
    let connect: TestConnect
    let refresher: Refresher
    let errors = AsyncStream<any Error>.makeStream()

    init(_ backend: Backend, isAlbumOptional: Bool = true) throws {
      let model = try ManagedObjectModel {
        Entity("Album", userInfo: ["uniquenessAttributes": "id"]) {
          Attribute("id", .int64)
          Relationship("tracks", toMany: "Track", inverse: "album", deleteRule: .cascade)
        }
        Entity("Track", uniqueness: [["code"]], userInfo: ["uniquenessAttributes": "id"]) {
          Attribute("id", .int64)
          Attribute("code", .string, optional: true)
          Relationship("album", toOne: "Album", inverse: "tracks", optional: isAlbumOptional)
          Relationship("next", toOne: "Track", inverse: "previous")
          Relationship("previous", toMany: "Track", inverse: "next")
        }
      }
      connect = TestConnect(
        name: "Library", managedObjectModel: try model.addingRefreshStatus(), storeLocation: directory.url,
        asyncErrorBlock: { [continuation = errors.continuation] in continuation.yield($0) })
      try connect.attachPersistentStore(for: backend.newConfiguration())
      try connect.start()
      refresher = try Refresher(connect)
    }

    /// Registers the pages of tracks by the cursors after which they come.
    func register(_ pages: [String?: DeltaPage]) throws {
      try refresher.register(changesOf: ManagedObject.self, entityName: "Track") { request in
        pages[request.cursor] ?? DeltaPage()
      }
    }

    @discardableResult
    func refresh() async throws -> RefreshStatus {
      try await refresher.refresh(ManagedObject.self, entityName: "Track")
    }

    func merge(_ records: [MergeRecord], into name: String) throws {
      try connect.newActionContext().merge(records: records, for: connect.managedObjectModel.entity(named: name))
    }

    /// The codes of the tracks by their keys.
    func codes() throws -> [Int64: String?] {
      try values { try $0.value(for: "code", as: String?.self) }
    }

    /// The keys of the related records, by the keys of the tracks.
    func targets(_ relationship: String) throws -> [Int64: Int64?] {
      try values { try $0.object(for: relationship)?.value(for: "id", as: Int64.self) }
    }

    /// Deletes the only album, and returns its identifier.
    @discardableResult
    func deleteAlbum() throws -> ManagedObjectID {
      try connect.newBackgroundContext().saving { context in
        let album = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Album")).first)
        context.delete(album)
        return album.objectID
      }
    }

    /// Gives the Connect a source of one pending edit of an entity.
    func addPendingEdit(of entityName: String) -> SinglePendingEdit {
      let edit = SinglePendingEdit(of: entityName)
      connect.pendingEdits = edit
      return edit
    }

    /// Merges the album 7 and deletes it, and returns the pending deletion.
    @discardableResult
    func addPendingDeletion() throws -> SinglePendingEdit {
      let deletion = addPendingEdit(of: "Album")
      try merge([MergeRecord(["id": 7])], into: "Album")
      deletion.set(PendingEdit(of: try deleteAlbum(), .delete, base: ["id": .int(7)]))
      return deletion
    }

    func trackID(_ id: Int64) throws -> ManagedObjectID {
      let context = connect.newBackgroundContext()
      return try context.performAndWait {
        let tracks = try context.fetch(FetchRequest<ManagedObject>(entityName: "Track"))
        return try #require(try tracks.first { try $0.value(for: "id", as: Int64.self) == id }).objectID
      }
    }

    private func values<T>(_ value: (ManagedObject) throws -> T?) throws -> [Int64: T?] {
      let context = connect.newBackgroundContext()
      return try context.performAndWait {
        Dictionary(
          uniqueKeysWithValues: try context.fetch(FetchRequest<ManagedObject>(entityName: "Track")).map {
            (try $0.value(for: "id", as: Int64.self), try value($0))
          })
      }
    }

    func end() async throws {
      await refresher.stop()
      try await connect.stop()
    }
  }

  @Test(arguments: Backend.available)
  func `a unique value moves to a new record of an earlier page, and links stay with their record`(
    backend: Backend
  ) async throws {
    let library = try Library(backend)
    try library.merge([1: "x", 3: "z"].map { MergeRecord(["id": $0, "code": $1]) }, into: "Track")
    try library.merge([MergeRecord(["id": 3, "next": 1])], into: "Track")
    try library.register([
      nil: DeltaPage(records: [MergeRecord(["id": 2, "code": "x"])], cursor: "a", hasMore: true),
      "a": DeltaPage(records: [MergeRecord(["id": 4, "code": "v"])], cursor: "b", hasMore: true),
      "b": DeltaPage(records: [MergeRecord(["id": 1, "code": "y"])], cursor: "c"),
    ])
    #expect(try await library.refresh().cursor == "c")
    #expect(try library.codes() == [1: "y", 2: "x", 3: "z", 4: "v"])
    #expect(try library.targets("next") == [1: nil, 2: nil, 3: 1, 4: nil])
    try await library.end()
  }

  @Test(arguments: Backend.available)
  func `a unique value that no page gives up fails the attempt, and the stored record stays`(
    backend: Backend
  ) async throws {
    let library = try Library(backend)
    try library.merge([MergeRecord(["id": 1, "code": "x"])], into: "Track")
    try library.register([nil: DeltaPage(records: [MergeRecord(["id": 2, "code": "x"])], cursor: "a")])
    await #expect { try await library.refresh() } throws: { ErrorCode.uniquenessViolated ~= $0 }
    #expect(try library.codes() == [1: "x"])
    #expect(try await library.refresher.status(of: ManagedObject.self, entityName: "Track")?.cursor == nil)
    try await library.end()
  }

  @Test(arguments: Backend.available)
  func `a later page deletes the record whose unique value an earlier page takes`(backend: Backend) async throws {
    let library = try Library(backend)
    try library.merge([MergeRecord(["id": 1, "code": "x"])], into: "Track")
    try library.register([
      nil: DeltaPage(
        records: [MergeRecord(["id": 2, "code": "x"]), MergeRecord(["id": 5, "code": "w"])], cursor: "a", hasMore: true),
      "a": DeltaPage(tombstones: [1, 5], cursor: "b"),
    ])
    #expect(try await library.refresh().cursor == "b")
    #expect(try library.codes() == [2: "x"])
    try await library.end()
  }

  @Test(arguments: Backend.available)
  func `a page with a link to a record that the server never sends is merged by the fourth attempt`(
    backend: Backend
  ) async throws {
    let library = try Library(backend)
    try library.register([
      nil: DeltaPage(records: [MergeRecord(["id": 1, "album": 7]), MergeRecord(["id": 2])], cursor: "a")
    ])
    for _ in 0..<3 {
      await #expect { try await library.refresh() } throws: { ErrorCode.objectNotFound ~= $0 }
      #expect(try library.codes() == [:])
    }
    #expect(try await library.refresh().cursor == "a")
    #expect(try library.targets("album") == [1: nil, 2: nil])
    var errors = library.errors.stream.makeAsyncIterator()
    let report = await errors.next()
    #expect(report.map { ErrorCode.objectNotFound ~= $0 && "\($0)".contains("1 link(s)") } == true)
    try await library.end()
  }

  @Test(arguments: Backend.available)
  func `the attempts that failed in the store of a user do not count in the store of the next user`(
    backend: Backend
  ) async throws {
    let library = try Library(backend)
    try library.register([nil: DeltaPage(records: [MergeRecord(["id": 1, "album": 7])], cursor: "a")])
    for _ in 0..<3 {
      await #expect { try await library.refresh() } throws: { ErrorCode.objectNotFound ~= $0 }
    }
    let stores = library.connect.persistentStoreCoordinator.persistentStores
    try await library.connect.detach(persistentStores: stores)
    try library.connect.attachPersistentStore(for: backend.newConfiguration())
    await #expect { try await library.refresh() } throws: { ErrorCode.objectNotFound ~= $0 }
    try library.merge([MergeRecord(["id": 7])], into: "Album")
    try await library.refresh()
    #expect(try library.targets("album") == [1: 7])
    try await library.end()
  }

  @Test(arguments: Backend.available)
  func `a page with a link to a missing record keeps the link if the record arrives in time`(
    backend: Backend
  ) async throws {
    let library = try Library(backend)
    try library.register([nil: DeltaPage(records: [MergeRecord(["id": 1, "album": 7])], cursor: "a")])
    await #expect { try await library.refresh() } throws: { ErrorCode.objectNotFound ~= $0 }
    try library.merge([MergeRecord(["id": 7])], into: "Album")
    try await library.refresh()
    #expect(try library.targets("album") == [1: 7])
    try await library.end()
  }

  @Test(arguments: Backend.available, [true, false])
  func `a new record of a locally deleted parent arrives when the deletion has ended without effect`(
    backend: Backend, isAlbumOptional: Bool
  ) async throws {
    let library = try Library(backend, isAlbumOptional: isAlbumOptional)
    let deletion = try library.addPendingDeletion()
    try library.register([
      nil: DeltaPage(records: [MergeRecord(["id": 1, "album": 7])], cursor: "a", hasMore: true),
      "a": DeltaPage(cursor: "b"),
      "b": DeltaPage(cursor: "b"),
    ])
    let targets: [Int64: Int64?] = isAlbumOptional ? [1: nil] : [:]
    for _ in 0..<2 {
      #expect(try await library.refresh().cursor == nil)
      #expect(try library.targets("album") == targets)
    }
    // The server has refused the deletion, and the user has restored the album.
    deletion.set(nil)
    try library.merge([MergeRecord(["id": 7])], into: "Album")
    #expect(try await library.refresh().cursor == "b")
    #expect(try library.targets("album") == [1: 7])
    try await library.end()
  }

  @Test(arguments: Backend.available)
  func `a missing record is left out by the fourth attempt also while a pending deletion holds the cursor back`(
    backend: Backend
  ) async throws {
    let library = try Library(backend)
    try library.addPendingDeletion()
    try library.register([
      nil: DeltaPage(records: [MergeRecord(["id": 1, "album": 7])], cursor: "a", hasMore: true),
      "a": DeltaPage(records: [MergeRecord(["id": 2, "album": 9])], cursor: "b"),
    ])
    for _ in 0..<3 {
      await #expect { try await library.refresh() } throws: { ErrorCode.objectNotFound ~= $0 }
      #expect(try library.targets("album") == [1: nil])
    }
    for _ in 0..<2 {
      #expect(try await library.refresh().cursor == nil)
      #expect(try library.targets("album") == [1: nil, 2: nil])
    }
    try await library.end()
  }

  @Test(arguments: Backend.available)
  func `a page with a change of a record whose edit is on its way comes again after the edit`(
    backend: Backend
  ) async throws {
    let library = try Library(backend)
    let edit = library.addPendingEdit(of: "Track")
    try library.merge([1: "x", 2: "x2"].map { MergeRecord(["id": $0, "code": $1]) }, into: "Track")
    let id = try library.trackID(1)
    edit.set(PendingEdit(of: id, .update, changed: ["code"], base: ["code": .string("w")], isBeingSent: true))
    try library.register([
      nil: DeltaPage(records: [MergeRecord(["id": 1, "code": "y"])], cursor: "a", hasMore: true),
      "a": DeltaPage(records: [MergeRecord(["id": 3, "code": "z"])], tombstones: [2], cursor: "b"),
    ])
    #expect(try await library.refresh().cursor == nil)
    #expect(try library.codes() == [1: "x", 3: "z"])
    edit.set(nil)
    #expect(try await library.refresh().cursor == "b")
    #expect(try library.codes() == [1: "y", 3: "z"])
    try await library.end()
  }

  @Test func `an attempt that succeeds ends the count of refused pages, and reports no link`() async throws {
    let library = try Library(.inMemory)
    try library.register([nil: DeltaPage(records: [MergeRecord(["id": 1, "album": 7])])])
    await #expect { try await library.refresh() } throws: { ErrorCode.objectNotFound ~= $0 }
    try library.merge([MergeRecord(["id": 7])], into: "Album")
    try await library.refresh()
    #expect(try library.targets("album") == [1: 7])
    try library.deleteAlbum()
    for _ in 0..<3 {
      await #expect { try await library.refresh() } throws: { ErrorCode.objectNotFound ~= $0 }
    }
    try await library.refresh()
    #expect(try library.targets("album") == [1: nil])
    var errors = library.errors.stream.makeAsyncIterator()
    let report = await errors.next()
    #expect(report.map { "\($0)".contains("1 link(s)") } == true)
    try await library.end()
  }
}
