import CoherenceCore
import Testing

/// The entities whose records the rule `cascade` may delete with a record.
@Suite("The reach of cascades")
struct CascadeReachTests {
  private let model: ManagedObjectModel

  init() throws {
    model = try ManagedObjectModel {
      Entity("Shelf") {
        Attribute("name", .string, optional: true)
        Relationship("works", toMany: "Work", inverse: "shelf", deleteRule: .cascade)
        Relationship("room", toOne: "Room", inverse: "shelves")
      }
      Entity("Room") { Relationship("shelves", toMany: "Shelf", inverse: "room") }
      Entity("Work") { Relationship("shelf", toOne: "Shelf", inverse: "works") }
      Entity("Album", parent: "Work") {
        Relationship("tracks", toMany: "Track", inverse: "album", deleteRule: .cascade)
      }
      Entity("Track") {
        Attribute("title", .string, optional: true)
        Relationship("album", toOne: "Album", inverse: "tracks", deleteRule: .cascade)
      }
    }
  }

  /// The names of the entities that a record of an entity reaches.
  private func reach(_ name: String) throws -> Set<String> {
    let entity = try model.entity(named: name)
    return Set(model.entities.filter { wanted in entity.reachesByCascades { $0 === wanted } }.map(\.name))
  }

  @Test func `the rule reaches the destinations of the rule, also over records of subentities`() throws {
    #expect(try reach("Shelf") == ["Shelf", "Work", "Track", "Album"])
    #expect(try reach("Work") == ["Work", "Track", "Album"])
  }

  @Test func `other rules reach no record, and a circle of the rule has an end`() throws {
    #expect(try reach("Room") == ["Room"])
    #expect(try reach("Track") == ["Track", "Album"])
  }
}
