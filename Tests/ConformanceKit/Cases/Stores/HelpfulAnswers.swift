import CoherenceCore
import Foundation

/// Errors say what failed, where, and what to do.
extension ConformanceSubject {
  static let helpfulAnswers = ConformanceSubject("Helpful answers") {
    extremeValues
    uniquenessNames
    identifierTexts
    modelFaultLists
  }

  @CasesBuilder private static var extremeValues: [Case] {
    Case("a date that no store can keep is refused as a value, not as a type") { stack in
      try stack.read { context in
        let album = try context.make("Album", ["title": "A"])
        for date in [Date(timeIntervalSince1970: 1e14), Date(timeIntervalSince1970: -.infinity)] {
          let error = try expectThrows(.invalidValue) { try album.setValue(date, for: "released") }
          try expect(error.message.contains("date"), "the message to speak of a date")
        }
      }
    }
  }

  @CasesBuilder private static var uniquenessNames: [Case] {
    Case("two records with one unique value are both named, with the property") { stack in
      try stack.write { try $0.make("Genre", ["name": "Jazz"]) }
      try stack.read { context in
        let known = try context.one("Genre")
        let fresh = try context.make("Genre", ["name": "Jazz"])
        let error = try expectThrows(.uniquenessViolated) { try context.save() }
        try expectEqual(Set(error.objectIDs), [known.objectID, fresh.objectID])
        try expect(error.message.contains("Genre") && error.message.contains("name"), "the names in the message")
        try expect(!error.message.contains("Jazz"), "no value in the message")
      }
    }
    Case("two new records with one unique value are both named, with the property") { stack in
      try stack.read { context in
        let genres = try (0..<40).map { try context.make("Genre", ["name": $0 == 39 ? "0" : "\($0)"]) }
        let error = try expectThrows(.uniquenessViolated) { try context.save() }
        try expectEqual(Set(error.objectIDs), [genres[0].objectID, genres[39].objectID])
        try expect(error.message.contains("name"), "the property in the message")
      }
    }
    Case("the error of a change to another record's unique value names both records") { stack in
      try stack.write { context in for name in ["Jazz", "Pop"] { try context.make("Genre", ["name": name]) } }
      try stack.read { context in
        let genres = try context.all("Genre", sort: [SortKey("name")])
        try genres[1].setValue("Jazz", for: "name")
        let error = try expectThrows(.uniquenessViolated) { try context.save() }
        try expectEqual(Set(error.objectIDs), Set(genres.map(\.objectID)))
      }
    }
  }

  @CasesBuilder private static var identifierTexts: [Case] {
    Case("an identifier is found again by its text, for any name of the entity", model: Slashes.model) { stack in
      let names = Slashes.model.entities.map(\.name)
      try stack.write { context in for name in names { try context.make(name, ["name": name]) } }
      try stack.read { context in
        for name in names {
          let id = try context.one(name).objectID
          try expectEqual(stack.coordinator.objectID(forDescription: "\(id)"), id, "the identifier from '\(id)'")
        }
      }
    }
  }

  @CasesBuilder private static var modelFaultLists: [Case] {
    Case("invalid names do not hide other faults of a model") { _ in
      let error = try expectThrows(.invalidModel) {
        try ManagedObjectModel(
          entities: [
            Entity("A"), Entity("A"), Entity("B", parent: "C"), Entity("C", parent: "B"),
            Entity("D", uniqueness: [["nothing"]]) {
              Attribute("x", .int32, default: "one")
              Attribute("y", .string, validation: [.pattern("(")])
              Relationship("e", toOne: "Elsewhere", inverse: nil)
            },
          ], configurations: ["one": ["F"]])
      }
      for word in ["named 'A'", "'B' inherits", "'D.x'", "'D.y'", "'Elsewhere'", "'nothing'", "'F'"] {
        try expect(error.message.contains(word), "the message to say \(word): \(error.message)")
      }
    }
  }
}

/// Entities whose names mean something in the text of an identifier.
enum Slashes {
  static let model = soundModel {
    Entity("a/b") { Attribute("name", .string) }
    Entity("a%2Fb") { Attribute("name", .string) }
    Entity("/") { Attribute("name", .string) }
    Entity("a//b/") { Attribute("name", .string) }
    Entity("100%") { Attribute("name", .string) }
  }
}
