import CoherenceCore
import TestRandom
import TestSupport
import Testing

/// Fetches with conditions on related records, some of which have unsaved changes.
@Suite struct DependentRecordTests {
  /// The unsaved changes beside a fetch of albums.
  enum Changes: String, CaseIterable {
    case insertedTrack, changedTrack, deletedTrack, movedTrack, changedAlbum, changedTags, deletedArtist, renamedArtist
    case everyTrack, everyAlbum, manyInsertedAlbums

    func make(in context: ManagedObjectContext) throws {
      func all(_ entity: String) throws -> [ManagedObject] {
        try context.fetch(FetchRequest<ManagedObject>(entityName: entity))
      }
      switch self {
      case .insertedTrack:
        try Discography.make("Track", "title", "new", context).setObject(all("Album")[0], for: "album")
      case .changedTrack: try all("Track")[0].setValue("changed", for: "title")
      case .deletedTrack: context.delete(try all("Track")[0])
      case .movedTrack: try all("Track")[0].setObject(all("Album")[1], for: "album")
      case .changedAlbum: try all("Album")[0].setValue("changed", for: "title")
      case .changedTags: try all("Album")[0].setObjects(all("Tag"), for: "tags")
      case .deletedArtist: context.delete(try all("Artist")[0])
      case .renamedArtist: try all("Artist")[0].setValue("changed", for: "name")
      case .everyTrack: for track in try all("Track") { try track.setValue("changed", for: "title") }
      case .everyAlbum: for album in try all("Album") { try album.setValue("changed", for: "title") }
      case .manyInsertedAlbums:
        for number in 0..<30 {
          let album = try Discography.make("Album", "title", "new \(number)", context)
          try Discography.make("Track", "title", "track 1", context).setObject(album, for: "album")
        }
      }
    }
  }

  /// The numbers of reads of one fetch for each condition.
  private func readCounts(_ backend: Backend, _ changes: Changes, albums: Int, inChild: Bool) throws -> [Int] {
    let discography = try Discography(backend, albums: albums)
    defer { discography.stack.close() }
    return try Discography.conditions.map { condition in
      let parent = discography.stack.context()
      let context = inChild ? ManagedObjectContext(parent: parent) : parent
      try parent.performAndWait { try changes.make(in: parent) }
      return try context.performAndWait {
        discography.stack.log.removeAll()
        _ = try context.fetch(Discography.request(condition))
        return discography.stack.log.reads.count
      }
    }
  }

  @Test(arguments: Backend.availableSQL, Changes.allCases)
  func `a fetch beside unsaved changes reads the related records of all records together`(
    _ backend: Backend, _ changes: Changes
  ) throws {
    for inChild in [false, true] {
      let few = try readCounts(backend, changes, albums: 60, inChild: inChild)
      let many = try readCounts(backend, changes, albums: 180, inChild: inChild)
      for (index, condition) in Discography.conditions.enumerated() {
        // Some statements have a limited number of identifiers.
        #expect(many[index] <= few[index] + 6, "\(condition), in a child: \(inChild)")
      }
    }
  }

  @Test(arguments: Backend.availableSQL)
  func `a fetch beside an unsaved member lets the store decide about the other owners`(_ backend: Backend) throws {
    let discography = try Discography(backend, albums: 30)
    defer { discography.stack.close() }
    let context = discography.stack.context()
    try context.performAndWait {
      try Changes.changedTrack.make(in: context)
      for condition in ["tracks.@count > 3", "ANY tracks.title == 'track 1'", "tracks.@sum.seconds > 0"] {
        discography.stack.log.removeAll()
        #expect(try context.count(for: Discography.request(condition)) == 30)
        let explanation = try context.explain(Discography.request(condition))
        #expect(explanation.unsavedChanges == .merged && explanation.predicate == .store, "\(condition)")
        // Reads: the count of the independent albums, the track's row, and its album's row with the members.
        #expect(discography.stack.log.reads.count <= 6, "\(discography.stack.log.reads)")
      }
    }
  }

  @Test(arguments: Backend.available)
  func `a fetch beside more unsaved members than are looked up finds the same records as after a save`(
    _ backend: Backend
  ) throws {
    let discography = try Discography(backend, albums: 80)
    defer { discography.stack.close() }
    let context = discography.stack.context()
    try context.performAndWait {
      let tracks = try context.fetch(FetchRequest<ManagedObject>(entityName: "Track"))
      for (index, track) in tracks.enumerated() where !index.isMultiple(of: 5) {
        try track.setValue(99, for: "seconds")
      }
      let request = try Discography.request("NOT (ANY tracks.seconds < 40)")
      #expect(try context.explain(request).unsavedChanges == .decisive)
      let found = try context.fetchIDs(request)
      #expect(!found.isEmpty && found.count < 80)
      try context.save()
      #expect(try context.fetchIDs(request) == found)
    }
  }

  // MARK: Random changes

  /// Makes random changes, some of them of records with earlier changes.
  private func change(_ context: ManagedObjectContext, _ random: inout SeededRandom) throws {
    func any(_ entity: String) throws -> ManagedObject? {
      try context.fetch(FetchRequest<ManagedObject>(entityName: entity)).randomElement(using: &random)
    }
    for _ in 0...random.next(below: 6) {
      switch random.next(below: 12) {
      case 0: try Discography.make("Track", "title", "track 1", context).setObject(any("Album"), for: "album")
      case 1: try any("Track")?.setValue("track 9", for: "title")
      case 2: try any("Track")?.setValue(random.next(below: 60), for: "seconds")
      case 3: if let track = try any("Track") { context.delete(track) }
      case 4: try any("Track")?.setObject(any("Album"), for: "album")
      case 5: try any("Song")?.setObject(any("Album"), for: "album")
      case 6: if let tag = try any("Tag") { try any("Album")?.setObjects([tag], for: "tags") }
      case 7: if let album = try any("Album") { try any("Tag")?.setObjects([album], for: "albums") }
      case 8: try any("Artist")?.setValue("artist 5", for: "name")
      case 9: try any("Album")?.setObject(any("Artist"), for: "artist")
      case 10: if let artist = try any("Artist") { context.delete(artist) }
      default: if let album = try any("Album") { context.delete(album) }
      }
    }
  }

  @Test(arguments: Backend.available, SeededRandom.seeds)
  func `a fetch beside unsaved changes of related records finds the records that it finds after a save`(
    _ backend: Backend, _ seed: UInt64
  ) throws {
    print("COHERENCE_SEED=\(seed)")
    var random = SeededRandom(seed: seed)
    let discography = try Discography(backend, albums: 24)
    defer { discography.stack.close() }
    for round in 0..<12 {
      let parent = discography.stack.context()
      let context = round.isMultiple(of: 2) ? parent : ManagedObjectContext(parent: parent)
      if context !== parent { try parent.performAndWait { try change(parent, &random) } }
      let unsaved = try context.performAndWait {
        try change(context, &random)
        return try results(in: context)
      }
      try context.performAndWait { try context.save() }
      if context !== parent { try parent.performAndWait { try parent.save() } }
      let reader = discography.stack.context()
      let saved = try reader.performAndWait { try results(in: reader) }
      for (index, condition) in Discography.conditions.enumerated() {
        #expect(unsaved[index] == saved[index], "\(condition), seed \(seed), round \(round)")
      }
    }
  }

  /// For each condition, the titles of the albums in three orders, and the number of albums.
  private func results(in context: ManagedObjectContext) throws -> [[String]] {
    try Discography.conditions.map { condition in
      var request = try Discography.request(condition)
      var found = ["\(try context.count(for: request))"]
      for keys in [["title"], ["artist.name", "title"], ["tracks.@count", "title"]] {
        request.sortKeys = keys.map { SortKey($0) }
        (request.fetchLimit, request.fetchOffset) = keys.count == 1 ? (7, 2) : (nil, 0)
        found += try context.fetch(request).map { "\(try $0.value(for: "title") as String)" }
      }
      return found
    }
  }
}
