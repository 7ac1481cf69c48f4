import Testing

@testable import CoherenceCore

/// Loops that add members to a list and read the list after each addition.
@Suite("Members added in a loop")
struct AddedMembersTests {
  private let context: ManagedObjectContext

  init() throws {
    let model = try ManagedObjectModel {
      Entity("Album") {
        Relationship("tracks", toMany: "Track", inverse: "album", ordered: true)
        Relationship("notes", toMany: "Note", inverse: "album")
        Relationship("tags", toMany: "Tag", inverse: "albums")
      }
      Entity("Track") { Relationship("album", toOne: "Album", inverse: "tracks") }
      Entity("Note") { Relationship("album", toOne: "Album", inverse: "notes") }
      Entity("Tag") { Relationship("albums", toMany: "Album", inverse: "tags") }
    }
    context = ManagedObjectContext(coordinator: try PersistentStoreCoordinator(inMemory: model))
  }

  /// Adds a member to a relationship of an album, from the member's side.
  private func relate(_ member: ManagedObject, to album: ManagedObject, _ name: String) throws {
    if name == "tags" {
      try member.setObjects([album], for: "albums")
    } else {
      try member.setObject(album, for: "album")
    }
  }

  /// Removes a member from a relationship of its album.
  private func separate(_ member: ManagedObject, _ name: String) throws {
    if name == "tags" { try member.setObjects([], for: "albums") } else { try member.setObject(nil, for: "album") }
  }

  @Test(arguments: ["tracks", "notes", "tags"])
  func `a list is not made anew for each removed member, and a member that returns has its place`(name: String) throws {
    try context.performAndWait {
      let album = try context.insertNewObject(forEntityName: "Album")
      let relationship = try #require(album.entity.relationship(named: name))
      var members = try (0..<60).map { _ in try context.insertNewObject(forEntityName: relationship.destination.name) }
      for member in members { try relate(member, to: album, name) }
      try context.save()
      #expect(try album.objects(for: name) == members)
      var removed: [ManagedObject] = []
      for number in 0..<40 {
        removed.append(members.remove(at: number * 7 % members.count))
        try separate(removed[number], name)
        // After the first change of a saved list, the next read makes the list with the changes.
        if number > 0 { #expect(album.collections?[relationship]?.effective?.count == members.count) }
        #expect(try album.objects(for: name) == members)
      }
      for member in removed.reversed() {
        try relate(member, to: album, name)
        members.append(member)
        if name != "tracks" { members.sort { ManagedObjectID.precedes($0.objectID, $1.objectID) } }
        #expect(album.collections?[relationship]?.effective?.count == members.count)
        #expect(try album.objects(for: name) == members)
      }
    }
  }

  @Test(arguments: ["tracks", "notes", "tags"], [false, true])
  func `a list is not made anew for each added member, and has the members as a list that is made anew`(
    name: String, isSaved: Bool
  ) throws {
    try context.performAndWait {
      let album = try context.insertNewObject(forEntityName: "Album")
      let relationship = try #require(album.entity.relationship(named: name))
      let entityName = relationship.destination.name
      var members: [ManagedObject] = []
      for _ in 0..<3 { members.append(try context.insertNewObject(forEntityName: entityName)) }
      for member in members { try relate(member, to: album, name) }
      if isSaved { try context.save() }
      for number in 0..<100 {
        #expect(try album.objects(for: name) == members)
        let member = try context.insertNewObject(forEntityName: entityName)
        try relate(member, to: album, name)
        members.append(member)
        // After the first change of a saved list, the next read makes the list with the changes.
        if number > 0 { #expect(album.collections?[relationship]?.effective?.count == members.count) }
      }
      // A member that leaves and comes back.
      for index in [50, 1] {
        let member = members.remove(at: index)
        try separate(member, name)
        #expect(try album.objects(for: name) == members)
        try relate(member, to: album, name)
        members.insert(member, at: name == "tracks" ? members.count : index)
        #expect(try album.objects(for: name) == members)
      }
      try context.save()
      context.refreshAll()
      let saved = try album.objects(for: name)
      #expect(Set(saved) == Set(members))
      if name == "tracks" { #expect(saved == members) }
    }
  }
}
