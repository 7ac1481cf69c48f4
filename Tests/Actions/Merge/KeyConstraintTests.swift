import CoherenceActions
import CoherenceCore
import CoherenceInMemory
import CoherenceStrategies
import Testing
import TestSupport

@Suite("Constraints of keys", .timeLimit(.minutes(15)))
struct KeyConstraintTests {
  private func artists(_ count: Int, _ name: String) -> [MergeRecord] {
    (0..<count).map { MergeRecord(["id": $0, "name": "\(name) \($0)"]) }
  }

  @Test(arguments: Backend.available)
  func `two concurrent merges of the same records store each record once`(
    backend: Backend
  ) throws {
    let stack = try MergeStack(backend)
    let entity = try stack.entity("Artist")
    // The second merge runs between the plan of the first and its save.
    let second = Once {
      _ = try? stack.connect.newActionContext().merge(records: artists(1000, "second"), for: entity)
    }
    var first = artists(1000, "first")
    first[500].values["note"] = ProbedText(text: "") { second() }
    do {
      try stack.connect.newActionContext().merge(records: first, for: entity)
    } catch ErrorCode.uniquenessViolated {
      // The other merge has won the race.
    }
    #expect(try stack.versions(of: "Artist").count == 1000)
    let result = try stack.merge(artists(1000, "third"), into: "Artist", options: MergeOptions())
    #expect(result.inserted == 0 && result.updated == 1000)
  }

  @Test(arguments: Backend.available)
  func `a key is unique among the records of its entity, except for keys with missing values`(
    backend: Backend
  ) throws {
    let stack = try MergeStack(backend)
    func insert(_ id: Int32?) throws {
      try stack.read { context in
        try context.insertNewObject(forEntityName: "Artist").setValue(id, for: "id")
        try context.save()
      }
    }
    try insert(1)
    for _ in 0..<3 { try insert(nil) }
    let error = #expect(throws: CoherenceError.self) { try insert(1) }
    #expect(error?.code == .uniquenessViolated && error?.message.contains("'id'") == true)
    #expect(try stack.versions(of: "Artist").count == 4)
  }

  @Test(arguments: Backend.available)
  func `a key is unique in each subentity of an abstract entity, and across a concrete hierarchy`(
    backend: Backend
  ) throws {
    let stack = try MergeStack(backend, try Self.hierarchies())
    func insert(_ name: String, _ id: Int64) throws {
      try stack.read { context in
        try context.insertNewObject(forEntityName: name).setValue(id, for: "id")
        try context.save()
      }
    }
    try insert("Song", 1)
    try insert("Film", 1)
    for name in ["Song", "Film"] {
      #expect { try insert(name, 1) } throws: { ErrorCode.uniquenessViolated ~= $0 }
    }
    try insert("Person", 1)
    for name in ["Person", "Child"] {
      #expect { try insert(name, 1) } throws: { ErrorCode.uniquenessViolated ~= $0 }
    }
    try insert("Child", 2)
    #expect(try stack.versions(of: "Work").count == 2)
    #expect(try stack.versions(of: "Person").count == 2)
  }

  private static func hierarchies() throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("Work", isAbstract: true, userInfo: ["uniquenessAttributes": "id"]) { Attribute("id", .int64) }
      Entity("Song", parent: "Work")
      Entity("Film", parent: "Work")
      Entity("Person", userInfo: ["uniquenessAttributes": "id"]) { Attribute("id", .int64) }
      Entity("Child", parent: "Person")
    }
  }

  @Test func `a key adds no constraint to a declared one, and does not change the version hash`() throws {
    func entity(_ uniqueness: [[String]], _ key: String?) throws -> EntityDescription {
      let entity = Entity(
        "Place", uniqueness: uniqueness, userInfo: key.map { [EntityDescription.keySetting: $0] } ?? [:]
      ) {
        Attribute("zip", .string)
        Attribute("street", .string)
      }
      return try ManagedObjectModel(entities: [entity]).entity(named: "Place")
    }
    func names(_ entity: EntityDescription) -> [[String]] { entity.uniquenessConstraints.map { $0.map(\.name) } }
    #expect(names(try entity([], "street, zip")) == [["street", "zip"]])
    #expect(names(try entity([["zip", "street"]], "street,zip")) == [["zip", "street"]])
    #expect(names(try entity([["zip"]], "street,zip")) == [["zip"]])
    #expect(names(try entity([], "street,missing")).isEmpty)
    #expect(try entity([], "zip").versionHash == entity([], nil).versionHash)
  }

  // MARK: Duplicate keys

  @Test(arguments: Backend.available)
  func `mergeDuplicates keeps the newest record of a key, or the record that the caller chooses`(
    backend: Backend
  ) throws {
    for choosesOldest in [false, true] {
      let stack = try MergeStack(backend, allowsDuplicateKeys: true)
      try fill(stack)
      try stack.read { context in
        let count =
          try choosesOldest
          ? context.mergeDuplicates(of: "Artist") { $0[0] } : context.mergeDuplicates(of: "Artist")
        #expect(count == 1)
        try context.save()
      }
      try stack.read { context in
        let artists = try stack.objects("Artist", context)
        let names = try artists.map { try $0.value(for: "name", as: String.self) }
        #expect(names.sorted() == ["nobody", "nobody", choosesOldest ? "older" : "younger", "pupil"].sorted())
        let kept = try #require(try artists.first { try $0.value(for: "id", as: Int32?.self) == 1 })
        let titles = try kept.objects(for: "albums").map { try $0.value(for: "title", as: String.self) }
        #expect(titles.sorted() == ["of older", "of younger"])
        let pupils = try kept.objects(for: "pupils").map { try $0.value(for: "name", as: String.self) }
        #expect(pupils == ["pupil"])
        #expect(try context.mergeDuplicates(of: "Artist") == 0)
      }
    }
  }

  @Test(arguments: Backend.available)
  func `mergeDuplicates merges the records of each subentity of an abstract entity by themselves`(
    backend: Backend
  ) throws {
    let stack = try MergeStack(backend, try Self.hierarchies(), allowsDuplicateKeys: true)
    try stack.read { context in
      for name in ["Song", "Film", "Song"] {
        try context.insertNewObject(forEntityName: name).setValue(Int64(1), for: "id")
      }
      try context.save()
      #expect(try context.mergeDuplicates(of: "Work") == 1)
      try context.save()
      #expect(try stack.objects("Work", context).map(\.entity.name).sorted() == ["Film", "Song"])
      #expect(try context.mergeDuplicates(of: "Work") == 0)
      #expect(!context.hasChanges)
    }
  }

  @Test(arguments: Backend.available, [true, false])
  func `mergeDuplicates keeps a record to which the cascade of its duplicate leads`(
    backend: Backend, isDirect: Bool
  ) throws {
    let model = try ManagedObjectModel {
      Entity("Draft", userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int64)
        Relationship("next", toOne: "Draft", inverse: "previous", deleteRule: .cascade)
        Relationship("previous", toOne: "Draft", inverse: "next")
      }
    }
    let stack = try MergeStack(backend, model, allowsDuplicateKeys: true)
    try stack.read { context in
      // The kept record, whose relationship is in use, is the newest.
      let drafts = try [1, 2, 3, 1].map { id in
        let draft = try context.insertNewObject(forEntityName: "Draft")
        try draft.setValue(Int64(id), for: "id")
        try context.save()
        return draft
      }
      try drafts[3].setObject(drafts[2], for: "next")
      try drafts[0].setObject(isDirect ? drafts[3] : drafts[1], for: "next")
      if !isDirect { try drafts[1].setObject(drafts[3], for: "next") }
      try context.save()
      #expect(try context.mergeDuplicates(of: "Draft") == 1)
      try context.save()
      #expect(try drafts[3].object(for: "next")?.value(for: "id", as: Int64.self) == 3)
      #expect(try drafts[3].object(for: "previous") == nil)
      // The rule deletes the record between the duplicate and the kept record.
      #expect(try stack.objects("Draft", context).count == (isDirect ? 3 : 2))
    }
  }

  @Test(arguments: Backend.available)
  func `mergeDuplicates keeps records with equal keys in two stores`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    let coordinator = stack.connect.persistentStoreCoordinator
    try coordinator.addPersistentStore(type: .inMemory)
    try stack.read { context in
      for store in coordinator.persistentStores {
        let artist = try context.insertNewObject(forEntityName: "Artist")
        try artist.setValue(Int32(7), for: "id")
        try context.assign(artist, to: store)
        try context.save()
      }
      #expect(try context.mergeDuplicates(of: "Artist") == 0)
      #expect(!context.hasChanges)
    }
  }

  @Test(arguments: Backend.available)
  func `mergeDuplicates merges an unsaved record and a saved record with equal keys`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    try stack.read { context in
      for name in ["saved", "unsaved"] {
        let artist = try context.insertNewObject(forEntityName: "Artist")
        try artist.setValue(Int32(7), for: "id")
        try artist.setValue(name, for: "name")
        if name == "saved" { try context.save() }
      }
      let count = try context.mergeDuplicates(of: "Artist") { $0[0] }
      #expect(count == 1)
      try context.save()
      let artists = try stack.objects("Artist", context)
      #expect(try artists.map { try $0.value(for: "name", as: String.self) } == ["saved"])
    }
  }

  /// Two artists with the key 1 and one album each, the older one with a pupil, and two artists without a key.
  private func fill(_ stack: MergeStack) throws {
    try stack.read { context in
      func makeArtist(_ id: Int32?, _ name: String) throws -> ManagedObject {
        let artist = try context.insertNewObject(forEntityName: "Artist")
        try artist.setValue(id, for: "id")
        try artist.setValue(name, for: "name")
        return artist
      }
      for (number, name) in ["older", "younger"].enumerated() {
        let album = try context.insertNewObject(forEntityName: "Album")
        try album.setValue("label", for: "label")
        try album.setValue(Int64(number), for: "number")
        try album.setValue("of \(name)", for: "title")
        let artist = try makeArtist(1, name)
        try album.setObject(artist, for: "artist")
        if number == 0 { try self.link(try context.insertNewObject(forEntityName: "Artist"), to: artist) }
        try context.save()
      }
      for _ in 0..<2 { _ = try makeArtist(nil, "nobody") }
      try context.save()
    }
  }

  private func link(_ pupil: ManagedObject, to mentor: ManagedObject) throws {
    try pupil.setValue(Int32(2), for: "id")
    try pupil.setValue("pupil", for: "name")
    try pupil.setObject(mentor, for: "mentor")
  }

  @Test func `mergeDuplicates refuses a choice with another key, and an entity without a key`() throws {
    let stack = try MergeStack(.inMemory, allowsDuplicateKeys: true)
    try fill(stack)
    try stack.read { context in
      let pupil = try #require(
        try stack.objects("Artist", context).first { try $0.value(for: "id", as: Int32?.self) == 2 })
      #expect { try context.mergeDuplicates(of: "Artist") { _ in pupil } } throws: {
        ErrorCode.invalidMergeKey ~= $0
      }
      #expect { try context.mergeDuplicates(of: "Genre") } throws: { ErrorCode.invalidMergeKey ~= $0 }
      #expect(!context.hasChanges)
    }
  }
}
