import Testing

@testable import CoherenceCore

/// The values and links on which a live result depends: a change of any other value evaluates no record.
@Suite("Dependencies of live results")
struct ResultDependencyTests {
  private let artist: EntityDescription
  private let track: EntityDescription
  private let tag: EntityDescription

  init() throws {
    let model = try ManagedObjectModel {
      Entity("Artist") {
        Attribute("name", .string)
        Attribute("rating", .int64)
        Relationship("tracks", toMany: "Track", inverse: "artist")
      }
      Entity("Track") {
        Attribute("title", .string)
        Attribute("genre", .string)
        Attribute("length", .int64)
        Relationship("artist", toOne: "Artist", inverse: "tracks")
        Relationship("tags", toMany: "Tag", inverse: "tracks")
      }
      Entity("Tag") {
        Attribute("name", .string)
        Relationship("tracks", toMany: "Track", inverse: "tags")
      }
    }
    artist = try model.entity(named: "Artist")
    track = try model.entity(named: "Track")
    tag = try model.entity(named: "Tag")
  }

  private func dependencies(
    _ format: String?, _ keys: [SortKey] = [], of entity: EntityDescription
  ) throws -> ResultDependencies {
    try ResultDependencies(try format.map { try FetchPredicate(format: $0).checked(for: entity) }, keys, of: entity)
  }

  private func slots(_ names: String..., of entity: EntityDescription) -> SlotSet {
    SlotSet(names.map { entity.propertiesByName[$0]?.slotInRow ?? -1 })
  }

  @Test(arguments: [
    "genre == 'a'", "NOT (genre == 'a')", "genre IN {'a', 'b'}", "genre BETWEEN {'a', 'b'}", "'a' == genre",
    "genre == 'a' OR genre == 'b'",
  ])
  func `a condition depends on the attributes that it names, and an order on its own`(format: String) throws {
    let found = try dependencies(format, [SortKey("title")], of: track)
    #expect(found.own == slots("genre", "title", of: track))
    #expect(found.paths.isEmpty && found.members.isEmpty && found.rerunConditions.isEmpty && found.links.isEmpty)
    #expect(found.roots.isEmpty)
  }

  @Test func `each operand of a condition is a dependency`() throws {
    #expect(try dependencies("genre == title", of: track).own == slots("genre", "title", of: track))
    let between = try dependencies("length BETWEEN {length + 1, length * 2}", of: track)
    #expect(between.own == slots("length", of: track))
    let calculated = try dependencies("length + artist.rating > 3", of: track)
    #expect(calculated.own == slots("length", "artist", of: track))
    #expect(try dependencies("SELF == SELF", of: track).own.isEmpty)
    #expect(try dependencies("artist == NULL", of: track).own == slots("artist", of: track))
  }

  @Test func `a path depends on its references and on the values at its end, once for all values`() throws {
    let found = try dependencies("artist.rating > 2", [SortKey("artist.name")], of: track)
    #expect(found.own == slots("artist", of: track))
    #expect(found.paths.count == 1 && found.members.isEmpty && found.rerunConditions.isEmpty)
    let path = try #require(found.paths.first)
    #expect(path.steps.map(\.name) == ["artist"] && path.root === artist)
    #expect(path.slots == slots("rating", "name", of: artist))
    #expect(found.concern(artist) && !found.concern(track) && !found.concern(tag))
    #expect(found.roots == [ObjectIdentifier(artist)])
  }

  @Test func `members are evaluated from their owners alone`() throws {
    let found = try dependencies("ANY tracks.genre == 'b' AND tracks.@max.length > 3", of: artist)
    #expect(found.own.isEmpty && found.paths.isEmpty && found.rerunConditions.isEmpty && found.links.isEmpty)
    let members = try #require(found.members.first)
    #expect(found.members.count == 1 && members.relationship.name == "tracks" && members.root === track)
    #expect(members.ownerSlot == track.propertiesByName["artist"]?.slotInRow)
    #expect(members.slots == slots("artist", "genre", "length", of: track))
    #expect(found.concern(track) && !found.concern(artist) && !found.concern(tag))
  }

  @Test func `a count of members depends on their references alone`() throws {
    let found = try dependencies("tracks.@count > 1", of: artist)
    #expect(found.members.map(\.slots) == [slots("artist", of: track)])
    let filtered = try dependencies("SUBQUERY(tracks, $t, $t.genre == 'a').@count > 1", of: artist)
    #expect(filtered.members.map(\.slots) == [slots("artist", "genre", of: track)])
  }

  @Test func `a path from a member runs the request again, for the values on the path alone`() throws {
    let found = try dependencies("ANY tracks.artist.name == 'x'", of: artist)
    #expect(found.members.map(\.slots) == [slots("artist", of: track)])
    let condition = try #require(found.rerunConditions.first)
    #expect(found.rerunConditions.count == 1 && condition.root === artist && !condition.countsInserts)
    #expect(condition.slots == slots("name", of: artist))
  }

  @Test func `members of a target run the request again, when records join or leave them too`() throws {
    let found = try dependencies("artist.tracks.@count > 2", of: track)
    #expect(found.own == slots("artist", of: track) && found.members.isEmpty && found.links.isEmpty)
    let condition = try #require(found.rerunConditions.first)
    #expect(found.rerunConditions.count == 1 && condition.root === track && condition.countsInserts)
    #expect(condition.slots == slots("artist", of: track))
  }

  @Test func `a target of which only the members are read is a dependency without values`() throws {
    for format in ["artist.tracks.@count > 2", "ANY artist.tracks.genre == 'a'", "artist.tracks.@max.length > 3"] {
      let path = try #require(try dependencies(format, of: track).paths.first)
      #expect(path.root === artist && path.slots.isEmpty, "\(format)")
    }
  }

  @Test func `linked members depend on the links, and on their own values without their inserts`() throws {
    let found = try dependencies("ANY tags.name == 'x'", of: track)
    #expect(found.links.map(\.name) == ["tags"] && found.farLinks.isEmpty && found.own.isEmpty)
    let condition = try #require(found.rerunConditions.first)
    #expect(found.rerunConditions.count == 1 && condition.root === tag && !condition.countsInserts)
    #expect(condition.slots == slots("name", of: tag))
    #expect(found.roots == [ObjectIdentifier(track), ObjectIdentifier(tag)])
  }

  @Test func `links of records other than the fetched records are far`() throws {
    let found = try dependencies("ANY tracks.tags.name == 'x'", of: tag)
    let near = try #require(tag.relationship(named: "tracks"))
    let far = try #require(track.relationship(named: "tags"))
    #expect(found.links == [near, far] && found.farLinks == [far])
    let interest = ResultInterest(
      isFetched: [false, true, false], entity: tag, includesSubentities: true, dependencies: found, only: nil)
    #expect(interest.isDirect([near]) && !interest.isDirect([far]) && !interest.isDirect([near, far]))
  }

  @Test func `an update changes a condition only by its own values, and other changes by their kind`() throws {
    let slots = slots("genre", of: track)
    let id = ManagedObjectID(space: track.temporarySpace, key: 1)
    func record(_ kind: EntityChangeKind, _ changed: SlotSet? = nil, isRestored: Bool = false) -> StoreChanges.Record {
      StoreChanges.Record(id: id, entity: track, kind: kind, slots: changed, isRestored: isRestored)
    }
    #expect(slots.mayBeChanged(by: record(.updated, slots)) && slots.mayBeChanged(by: record(.updated)))
    #expect(!slots.mayBeChanged(by: record(.updated, self.slots("title", of: track))))
    #expect(slots.mayBeChanged(by: record(.updated, self.slots("title", "genre", of: track))))
    #expect(slots.mayBeChanged(by: record(.deleted)) && !slots.mayBeChanged(by: record(.inserted)))
    #expect(slots.mayBeChanged(by: record(.inserted), orMembership: true))
    #expect(slots.mayBeChanged(by: record(.inserted, isRestored: true)))
  }
}
