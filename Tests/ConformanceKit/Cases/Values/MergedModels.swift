import CoherenceCore

/// Models that are merged from the models of several modules.
extension ConformanceSubject {
  static let mergedModels = ConformanceSubject("Merged models") {
    Case("a model merged from two models has the entities of both, and a shared entity once") { stack in
      let merged = try ManagedObjectModel(merging: [try paintings, try galleries], name: "Art")
      try expectEqual(merged.name, "Art")
      try expectEqual(merged.entities.map(\.name), ["Painter", "Painting", "Gallery"])
      try expectEqual(merged.versionIdentifiers, ["paintings 1", "galleries 2"])
      try stack.reopen(at: try stack.makeLocation(), model: merged)
      try stack.write { context in
        let painting = try context.make("Painting", ["name": "Judith"])
        try painting.setObject(try context.make("Painter", ["name": "Artemisia"]), for: "painter")
        try context.make("Gallery", ["name": "Uffizi"]).setObjects([painting], for: "paintings")
      }
      try stack.read { context in
        try expectEqual(try context.one("Painter").labels(of: "paintings"), ["Judith"])
        try expectEqual(try context.one("Gallery").labels(of: "paintings"), ["Judith"])
      }
    }
    Case("the configurations of merged models have the entities of each model") { _ in
      let merged = try ManagedObjectModel(merging: [try paintings, try galleries])
      func names(_ configuration: String) throws -> [String] {
        try unwrap(merged.entities(forConfigurationName: configuration), "a configuration").map(\.name)
      }
      try expectEqual(merged.configurations, ["Public", "Works"])
      try expectEqual(try names("Works"), ["Painter", "Painting"])
      try expectEqual(try names("Public"), ["Painting", "Gallery"])
    }
    Case("models with different entities of one name are not merged") { _ in
      let other = try ManagedObjectModel { Entity("Painting") { Attribute("title", .string) } }
      let error = try expectThrows(.invalidModel) { try ManagedObjectModel(merging: [try paintings, other]) }
      try expect(error.message.contains("'Painting'"), "the message to name the entity")
    }
  }

  /// A case of merged models for stores that migrate.
  @CasesBuilder static var mergedMigrations: [Case] {
    Case("a store of one model opens with a merged model, and its records stay") { stack in
      try stack.reopen(at: try stack.makeLocation(), model: try paintings)
      try stack.write { try $0.make("Painting", ["name": "Judith"]) }
      try stack.reopen(model: try ManagedObjectModel(merging: [try paintings, try galleries]))
      try stack.write { try $0.make("Gallery", ["name": "Uffizi"]) }
      try stack.read { try expectEqual(try $0.names("Painting"), ["Judith"]) }
    }
  }

  private static var works: [Entity] {
    [
      Entity("Painter") {
        Attribute("name", .string)
        Relationship("paintings", toMany: "Painting", inverse: "painter")
      },
      Entity("Painting") {
        Attribute("name", .string)
        Relationship("painter", toOne: "Painter", inverse: "paintings")
      },
    ]
  }

  private static var paintings: ManagedObjectModel {
    get throws {
      try ManagedObjectModel(
        entities: works, configurations: ["Works": ["Painter", "Painting"], "Public": ["Painting"]],
        versionIdentifiers: ["paintings 1"])
    }
  }

  private static var galleries: ManagedObjectModel {
    get throws {
      let gallery = Entity("Gallery") {
        Attribute("name", .string)
        Relationship("paintings", toMany: "Painting", inverse: nil)
      }
      return try ManagedObjectModel(
        entities: works + [gallery], configurations: ["Public": ["Gallery"]], versionIdentifiers: ["galleries 2"])
    }
  }
}
