import CoherenceCore
import Foundation

extension ConformanceSubject {
  static let hostileNames = ConformanceSubject("Hostile names") {
    named("quotes", #"it's "a" `quoted` [name]"#)
    named("a keyword", "select")
    named("another keyword", "ORDER")
    named("the name of a system column", "rowid")
    named("the name of another system column", "xmin")
    named("the name of a key", "id")
    named("the name of a version", "version")
    named("emoji", "🎷🇮🇸")
    named("spaces", " a  b ")
    named("an attack", "\"; DROP TABLE x; --")
    named("quotation marks before combining marks", "a\"\u{301}b'\u{301}c`\u{301}d")
    named("a reserved beginning before a combining mark", "sqlite_\u{301}a")
    named("a backslash and a dollar", "\\a$1?%s")
    named("seventy characters", String(repeating: "seventy", count: 10))
    named("a line end", "a\nb")
    named("digits", "123")
    named("marks of the framework", "$id")
    named("the alias of a table", "t")
    named("the given row of an upsert", "excluded")
    definitions
    similar
    upserts
    configurations
  }

  /// An entity, an attribute and relationships of the given name work in every operation of a store.
  private static func named(_ what: String, _ name: String) -> Case {
    Case("names made of \(what) work") { stack in
      try stack.reopen(at: try stack.makeLocation(), model: try model(name))
      let (one, many, links) = (name + "1", name + "2", name + "3")
      try stack.write { context in
        let parent = try context.make(name, [name: "parent"])
        let child = try context.make(name, [name: "child"])
        try child.setObject(parent, for: one)
        try parent.setObjects([child, parent], for: links)
      }
      try stack.reopen()
      let path = PropertyPath(names: [one, name])
      let isChild = FetchPredicate.comparison(.path(path), .equal, .value(.string("parent")), [])
      let label = PropertyPath(names: [name])
      try stack.write { context in
        var request = FetchRequest<ManagedObject>(entityName: name)
        request.sortKeys = [SortKey(label, .reverse)]
        let found = try context.fetch(request)
        try expectEqual(try found.map { try $0.value(for: name, as: String.self) }, ["parent", "child"])
        try expectEqual(try context.all(name, where: isChild), [found[1]])
        try expectEqual(try found[0].objects(for: many), [found[1]])
        try expectEqual(Set(try found[0].objects(for: links)), Set(found))
        try found[1].setValue("changed", for: name)
        try context.save()
        let isChanged = FetchPredicate.comparison(.path(label), .equal, .value(.string("changed")), [])
        try expectEqual(try context.number(of: name, where: isChanged), 1)
        for object in found { context.delete(object) }
      }
      try stack.read { try expectEqual(try $0.number(of: name), 0) }
    }
  }

  private static func model(_ name: String) throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity(name, uniqueness: [[name]], indexes: [[name, name + "1"]]) {
        Attribute(name, .string)
        Relationship(name + "1", toOne: name, inverse: name + "2")
        Relationship(name + "2", toMany: name, inverse: name + "1")
        Relationship(name + "3", toMany: name, inverse: nil)
      }
    }
  }

  /// Names and constants in the definitions of tables and indexes, which have no parameters.
  @CasesBuilder private static var definitions: [Case] {
    Case("a quotation mark before a combining mark ends no constant of a definition") { stack in
      let text = "a'\u{301}b\"\u{301}c"
      let model = try ManagedObjectModel {
        Entity("Base") { Attribute("title", .string) }
        Entity(text, parent: "Base", uniqueness: [["code"]]) {
          Attribute("code", .int64)
          Attribute("note", .string, default: text)
        }
      }
      try stack.reopen(at: try stack.makeLocation(), model: model)
      try stack.write { context in
        let object = try context.make(text, ["title": "t", "code": 1])
        try expectEqual(try object.value(for: "note", as: String.self), text)
      }
      try stack.reopen()
      try stack.read { context in
        let object = try context.one(text)
        try expectEqual(try object.value(for: "note", as: String.self), text)
        try expectEqual(object.entity.name, text)
        try expectEqual(try context.number(of: "Base", where: equal("title", "t")), 1)
      }
    }
  }

  @CasesBuilder private static var configurations: [Case] {
    Case("a configuration has any name") { stack in
      let names = [
        #"it's "a" `quoted` [name]"#, "select", "🎷🇮🇸", " a  b ", "../a/b", "\"; DROP TABLE x; --",
        String(repeating: "seventy", count: 10),
      ]
      for name in names {
        let model = try ManagedObjectModel(
          entities: [Entity("Inside") { Attribute("name", .string) }, Entity("Outside")],
          configurations: [name: ["Inside"]])
        let location = try stack.makeLocation()
        for round in 1...2 {
          let coordinator = stack.makeCoordinator(model: model)
          let store = try stack.attach(location, to: coordinator, configuration: name)
          let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
          try context.performAndWait {
            try context.make("Inside", ["name": name])
            try context.save()
            try expectEqual(try context.number(of: "Inside", where: equal("name", name)), round, name)
            _ = try expectThrows(.noStore) { try context.number(of: "Outside") }
          }
          try coordinator.remove(store)
        }
      }
    }
  }

  @CasesBuilder private static var upserts: [Case] {
    Case("an upsert changes records of an entity with the name of its given row") { stack in
      let model = try ManagedObjectModel {
        Entity("excluded", uniqueness: [["code"]]) {
          Attribute("code", .string); Attribute("name", .string)
        }
      }
      try stack.reopen(at: try stack.makeLocation(), model: model)
      try stack.read { context in
        for (name, count) in [("old", 0), ("new", 1)] {
          let rows: [[String: AttributeValue]] = [["code": .string("A"), "name": .string(name)]]
          let request = BatchInsertRequest(entityName: "excluded", rows: rows, onDuplicate: .update(by: ["code"]))
          try expectEqual(try context.execute(request).updated.count, count)
        }
      }
      try stack.read { try expectEqual(try $0.names("excluded"), ["new"]) }
    }
  }

  @CasesBuilder private static var similar: [Case] {
    Case("names that differ in case alone are two names") { stack in
      let model = try ManagedObjectModel {
        Entity("Item") {
          Attribute("name", .string); Attribute("Name", .string); Attribute("NAME", .int32)
        }
        Entity("item") { Attribute("name", .string) }
      }
      try stack.reopen(at: try stack.makeLocation(), model: model)
      try stack.write { context in
        try context.make("Item", ["name": "a", "Name": "b", "NAME": 3])
        try context.make("item", ["name": "c"])
      }
      try stack.reopen()
      try stack.read { context in
        let item = try context.one("Item", where: equal("Name", "b"))
        try expectEqual(try item.value(for: "name"), .string("a"))
        try expectEqual(try item.value(for: "NAME"), .int(3))
        try expectEqual(try context.one("item").value(for: "name"), .string("c"))
      }
    }
    Case("long names that differ at their ends are two names") { stack in
      let long = String(repeating: "x", count: 70)
      let model = try ManagedObjectModel {
        Entity(long + "1") {
          Attribute(long + "a", .string); Attribute(long + "b", .string)
        }
        Entity(long + "2") { Attribute(long + "a", .string) }
      }
      try stack.reopen(at: try stack.makeLocation(), model: model)
      try stack.write { context in
        try context.make(long + "1", [long + "a": "1a", long + "b": "1b"])
        try context.make(long + "2", [long + "a": "2a"])
      }
      try stack.reopen()
      try stack.read { context in
        let object = try context.one(long + "1", where: equal(long + "b", "1b"))
        try expectEqual(try object.value(for: long + "a"), .string("1a"))
        try expectEqual(try context.one(long + "2").value(for: long + "a"), .string("2a"))
      }
    }
    Case("siblings declare one name with two types") { stack in
      let model = try ManagedObjectModel {
        Entity("Shape", isAbstract: true) { Attribute("name", .string) }
        Entity("Circle", parent: "Shape") { Attribute("size", .double) }
        Entity("Shirt", parent: "Shape") { Attribute("size", .string) }
      }
      try stack.reopen(at: try stack.makeLocation(), model: model)
      try stack.write { context in
        try context.make("Circle", ["name": "c", "size": 1.5])
        try context.make("Shirt", ["name": "s", "size": "XL"])
      }
      try stack.reopen()
      try stack.read { context in
        try expectEqual(try context.names("Shape"), ["c", "s"])
        try expectEqual(try context.names("Circle", where: compare("size", .greater, 1)), ["c"])
        try expectEqual(try context.names("Shirt", where: equal("size", "XL")), ["s"])
      }
    }
  }
}
