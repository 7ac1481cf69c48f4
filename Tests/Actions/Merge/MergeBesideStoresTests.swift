import CoherenceActions
import CoherenceCore
import CoherenceStrategies
import Foundation
import Testing
import TestSupport

/// Merges into an entity that several attached stores hold.
@Suite("Merges beside other stores")
struct MergeBesideStoresTests {
  private func artist(_ id: Int, _ name: String) -> MergeRecord { MergeRecord(["id": id, "name": name]) }

  /// A stack with the artists 1, 2 and 7, beside a read-only store with other artists.
  private func stack(
    _ backend: Backend, archiving archived: [MergeRecord]
  ) throws -> (stack: MergeStack, archive: MergeStack) {
    let model = try MergeStack.library()
    let (archive, stack) = (try MergeStack(backend, model), try MergeStack(backend, model))
    try archive.merge(archived, into: "Artist")
    try stack.merge([artist(1, "Ada"), artist(2, "Bob"), artist(7, "Guy")], into: "Artist")
    var readOnly = archive.configuration
    readOnly.location = archive.store.url
    readOnly.options[StoreOption.readOnly] = true
    try stack.connect.attachPersistentStore(for: readOnly)
    return (stack, archive)
  }

  @Test(arguments: Backend.available)
  func `a replacing merge deletes the records of writable stores alone`(backend: Backend) async throws {
    let (stack, archive) = try stack(backend, archiving: [artist(8, "Hal"), artist(9, "Ida")])
    let result = try stack.merge([artist(1, "Ada"), artist(7, "Guy"), artist(8, "Hal")], into: "Artist")
    #expect(result.counts == MergeResult.with(unchanged: 3, deleted: 1))
    #expect(try stack.names() == [1: "Ada", 7: "Guy", 8: "Hal", 9: "Ida"])

    let entity = try stack.entity("Artist")
    let (pages, continuation) = AsyncStream.makeStream(of: [MergeRecord].self)
    continuation.yield([artist(7, "Guy")])
    continuation.finish()
    let paged = try await stack.connect.newActionContext().mergePages(pages, for: entity, options: .replaceAll)
    #expect(paged.counts == MergeResult.with(unchanged: 1, deleted: 1))
    #expect(try stack.names() == [7: "Guy", 8: "Hal", 9: "Ida"])
    #expect(try archive.names() == [8: "Hal", 9: "Ida"])
  }

  @Test(arguments: Backend.available, [MergeOptions.StoredDuplicatePolicy.keep, .delete])
  func `a record of a writable store gets the values rather than an older record of a read-only store`(
    backend: Backend, policy: MergeOptions.StoredDuplicatePolicy
  ) throws {
    let (stack, archive) = try stack(backend, archiving: [artist(7, "Guy")])
    let result = try stack.merge([artist(7, "Gus")], into: "Artist", options: MergeOptions(storedDuplicates: policy))
    #expect(result.counts == MergeResult.with(updated: 1))
    #expect(try archive.names() == [7: "Guy"])
    let found = try stack.read { context in
      try stack.objects("Artist", context).map { try $0.value(for: "name", as: String.self) }
    }
    #expect(found.sorted() == ["Ada", "Bob", "Gus", "Guy"])
  }

  @Test(arguments: Backend.available)
  func `links lead to the record of a writable store rather than to an older record of a read-only store`(
    backend: Backend
  ) throws {
    let (stack, archive) = try stack(backend, archiving: [artist(7, "Guy")])
    let album = MergeRecord(["label": "L", "number": 1], links: ["artist": .one(7)])
    let result = try stack.merge([album], into: "Album", options: MergeOptions())
    #expect(result.counts == MergeResult.with(inserted: 1))
    let stores = try stack.read { context in
      try stack.objects("Album", context).map { try $0.object(for: "artist")?.objectID.storeIdentifier }
    }
    #expect(stores == [stack.store.identifier])
    #expect(try stack.merge([album], into: "Album", options: MergeOptions()).counts == MergeResult.with(unchanged: 1))
    #expect(try archive.names() == [7: "Guy"])
  }

  /// The stores of each album, of its genres and of its artist, by the number of the album.
  private func stores(_ stack: MergeStack) throws -> [Int: [StoreIdentifier?]] {
    try stack.read { context -> [Int: [StoreIdentifier?]] in
      var stores: [Int: [StoreIdentifier?]] = [:]
      for album in try stack.objects("Album", context) {
        var objects = try album.objects(for: "genres")
        objects.append(album)
        if let artist = try album.object(for: "artist") { objects.append(artist) }
        stores[try album.value(for: "number", as: Int.self)] = objects.map(\.objectID.storeIdentifier)
      }
      return stores
    }
  }

  @Test(arguments: Backend.available)
  func `links by a key that records of two stores have lead to the record in the store of the record with the link`(
    backend: Backend
  ) throws {
    let stack = try MergeStack(backend)
    let other = try stack.connect.attachPersistentStore(
      for: backend.configuration(named: UUID().uuidString.filter(\.isHexDigit)))
    for (number, store) in [(1, stack.store), (2, other)] {
      try stack.read { context in
        let artist = try context.insertNewObject(forEntityName: "Artist")
        let genre = try context.insertNewObject(forEntityName: "Genre")
        let album = try context.insertNewObject(forEntityName: "Album")
        try artist.setValue(7, for: "id")
        try genre.setValue("Jazz", for: "name")
        try album.setValue("L", for: "label")
        try album.setValue(number, for: "number")
        for object in [artist, genre, album] { try context.assign(object, to: store) }
        try context.save()
      }
    }
    func album(_ number: Int) -> MergeRecord {
      MergeRecord(["label": "L", "number": number], links: ["artist": .one(7), "genres": .many(["Jazz"])])
    }
    let options = MergeOptions(store: other.identifier)
    let result = try stack.merge([album(1), album(2), album(3)], into: "Album", options: options)
    #expect(result.counts == MergeResult.with(inserted: 1, updated: 2))
    // Without a store of the options, the targets of the first attached store choose the store.
    let fourth = try stack.merge([album(4)], into: "Album", options: MergeOptions())
    #expect(fourth.counts == MergeResult.with(inserted: 1))
    let (first, second) = (stack.store.identifier, other.identifier)
    let expected: [Int: [StoreIdentifier?]] = [
      1: [first, first, first], 2: [second, second, second], 3: [second, second, second], 4: [first, first, first],
    ]
    #expect(try stores(stack) == expected)
    let again = try stack.merge((1...4).map { album($0) }, into: "Album", options: options)
    #expect(again.counts == MergeResult.with(unchanged: 4))
  }

  @Test(arguments: Backend.available, [MergeOptions.StoredDuplicatePolicy.keep, .delete])
  func `a link within the hierarchy leads to the record of two stores that gets the values of the input`(
    backend: Backend, policy: MergeOptions.StoredDuplicatePolicy
  ) throws {
    let stack = try MergeStack(backend)
    // The mentor in the first store is newer by its number in the store.
    try stack.merge([artist(5, "Eve"), artist(6, "Fay")], into: "Artist", options: MergeOptions())
    try stack.merge([artist(7, "Guy")], into: "Artist", options: MergeOptions())
    let other = try stack.connect.attachPersistentStore(
      for: backend.configuration(named: UUID().uuidString.filter(\.isHexDigit)))
    try stack.read { context in
      let mentor = try context.insertNewObject(forEntityName: "Artist")
      try mentor.setValue(7, for: "id")
      try context.assign(mentor, to: other)
      try context.save()
    }
    let pupil = MergeRecord(["id": 8, "name": "Hal"], links: ["mentor": .one(7)])
    let result = try stack.merge(
      [artist(7, "Gus"), pupil], into: "Artist",
      options: MergeOptions(storedDuplicates: policy, store: other.identifier))
    #expect(result.counts == MergeResult.with(inserted: 1, updated: 1, deleted: policy == .delete ? 1 : 0))
    let mentors = try stack.read { context in
      try stack.objects("Artist", context).compactMap { artist -> [String]? in
        guard let mentor = try artist.object(for: "mentor") else { return nil }
        #expect(mentor.objectID.storeIdentifier == other.identifier)
        return try [artist, mentor].map { try $0.value(for: "name", as: String.self) }
      }
    }
    #expect(mentors == [["Hal", "Gus"]])
  }

  @Test(arguments: Backend.available)
  func `the decision over a pending insert has the target in the store of the record`(backend: Backend) throws {
    let source = ScriptedEdits(["Album"])
    let stack = try MergeStack.pending(backend, source, names: [7: "Guy"])
    let other = try stack.connect.attachPersistentStore(for: backend.newConfiguration())
    let (artistID, albumID) = try stack.read { context -> (ManagedObjectID, ManagedObjectID) in
      let artist = try context.insertNewObject(forEntityName: "Artist")
      let album = try context.insertNewObject(forEntityName: "Album")
      for object in [artist, album] { try context.assign(object, to: other) }
      try artist.setValue(7, for: "id")
      try album.setValue("L", for: "label")
      try album.setValue(1, for: "number")
      try album.setObject(artist, for: "artist")
      try context.save()
      return (artist.objectID, album.objectID)
    }
    source.add(PendingEdit(of: albumID, .insert))
    let record = MergeRecord(["label": "L", "number": 1], links: ["artist": .one(7)])
    let result = try stack.merge([record], into: "Album", options: MergeOptions())
    #expect(result.counts == MergeResult.with(unchanged: 1))
    #expect(source.decisions.map { $0.serverValues?["artist"] } == [.reference(artistID)])
  }

  @Test(arguments: Backend.available)
  func `a merge inserts its new records into the store of its options`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    try stack.merge([artist(1, "Ada")], into: "Artist")
    let other = try stack.connect.attachPersistentStore(for: backend.newConfiguration())
    let result = try stack.merge(
      [artist(1, "Eve"), artist(2, "Bob")], into: "Artist", options: MergeOptions(store: other.identifier))
    #expect(result.counts == MergeResult.with(inserted: 1, updated: 1))
    let stores = try stack.read { context in
      try Dictionary(
        stack.objects("Artist", context).map {
          (try $0.value(for: "name", as: String.self), $0.objectID.storeIdentifier)
        }, uniquingKeysWith: { first, _ in first })
    }
    #expect(stores == ["Eve": stack.store.identifier, "Bob": other.identifier])

    try stack.connect.detach(persistentStore: other)
    #expect {
      try stack.merge([artist(3, "Cid")], into: "Artist", options: MergeOptions(store: other.identifier))
    } throws: {
      ErrorCode.storeDetached ~= $0
    }
    #expect(try stack.names() == [1: "Eve"])
  }
}
