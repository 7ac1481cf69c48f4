import CoherenceCore

extension ConformanceSubject {
  static let rowsReadAgain = ConformanceSubject("Rows read again") {
    Case("a record read before shows the save of another context") { stack in
      try stack.write { try Music.fill($0) }
      let id = try warmed(stack, "Album", "Debut")
      try change(id, in: stack.context())
      try expectEqual(try title(id, stack.context()), "changed")
    }
    Case("a record read before shows the save of another coordinator") { stack in
      try stack.write { try Music.fill($0) }
      let id = try warmed(stack, "Album", "Debut")
      let other = try stack.anotherCoordinator()
      try change(id, in: ManagedObjectContext(concurrencyType: .privateQueue, coordinator: other))
      try expectEqual(try title(id, stack.context()), "changed")
      // The other coordinator has read the record too.
      try change(id, to: "again", in: stack.context())
      let reader = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: other)
      try expectEqual(try title(id, reader), "again")
    }
    Case("a record read before and deleted by another coordinator is gone") { stack in
      try stack.write { try Music.fill($0) }
      let id = try warmed(stack, "Album", "Debut")
      let writer = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: try stack.anotherCoordinator())
      try writer.performAndWait {
        writer.delete(try writer.existingObject(with: id))
        try writer.save()
      }
      try stack.read { context in try expectThrows(.objectNotFound) { try context.existingObject(with: id) } }
    }
    Case("a record read before shows a batch request") { stack in
      try stack.write { try Music.fill($0) }
      let id = try warmed(stack, "Album", "Debut")
      try stack.read { _ = try $0.execute(BatchUpdateRequest(entityName: "Album", values: ["title": "changed"])) }
      try expectEqual(try title(id, stack.context()), "changed")
      try stack.read { _ = try $0.execute(BatchDeleteRequest(entityName: "Album")) }
      try stack.read { context in try expectThrows(.objectNotFound) { try context.existingObject(with: id) } }
    }
    Case("records that swapped unique values show their own values") { stack in
      try stack.write { context in
        for name in ["a", "b"] { try context.make("Genre", ["name": name]) }
      }
      let ids = try ["a", "b"].map { try warmed(stack, "Genre", $0, by: "name") }
      try stack.write { context in
        for (id, name) in zip(ids, ["b", "a"]) { try context.existingObject(with: id).setValue(name, for: "name") }
      }
      try stack.read { context in
        try expectEqual(try ids.map { try context.existingObject(with: $0).label }, ["b", "a"])
      }
    }
    Case("a reference to a deleted record is cleared in rows read before") { stack in
      try stack.write { try Music.fill($0) }
      let album = try warmed(stack, "Album", "Debut")
      try stack.write { $0.delete(try $0.one("Artist", where: equal("name", "Bj\u{F6}rk"))) }
      try stack.read { context in
        try expect(try context.existingObject(with: album).object(for: "artist") == nil, "no artist")
      }
    }
    Case("a unit of work that begins with a record read before sees one state") { stack in
      try stack.write { try Music.fill($0) }
      let ids = try ["Debut", "Arrival"].map { try warmed(stack, "Album", $0) }
      let other = try stack.anotherCoordinator()
      try stack.read { context in
        try context.withSnapshot {
          try expectEqual(try context.existingObject(with: ids[0]).label, "Debut")
          for id in ids { try change(id, in: ManagedObjectContext(concurrencyType: .privateQueue, coordinator: other)) }
          try expectEqual(try context.existingObject(with: ids[1]).label, "Arrival")
          try expectEqual(try context.number(of: "Album", where: equal("title", "changed")), 0)
        }
      }
      for id in ids { try expectEqual(try title(id, stack.context()), "changed") }
    }
    Case("a record read before shows changes saved while the store was detached") { stack in
      try stack.write { try Music.fill($0) }
      let coordinator = stack.coordinator
      let id = try warmed(stack, "Album", "Debut")
      let other = try stack.anotherCoordinator()
      try coordinator.remove(try stack.store)
      try change(id, in: ManagedObjectContext(concurrencyType: .privateQueue, coordinator: other))
      try stack.attach(stack.location, to: coordinator)
      try expectEqual(try title(id, stack.context()), "changed")
    }
  }

  /// A record that two contexts have read by its identifier.
  private static func warmed(
    _ stack: ConformanceStack, _ entity: String, _ label: String, by attribute: String = "title"
  ) throws -> ManagedObjectID {
    let id = try stack.read { try $0.one(entity, where: equal(attribute, label)).objectID }
    for _ in 0..<2 { try expectEqual(try title(id, stack.context()), label) }
    return id
  }

  private static func title(_ id: ManagedObjectID, _ context: ManagedObjectContext) throws -> String {
    try context.performAndWait { try context.existingObject(with: id).label }
  }

  private static func change(
    _ id: ManagedObjectID, to title: String = "changed", in context: ManagedObjectContext
  ) throws {
    try context.performAndWait {
      try context.existingObject(with: id).setValue(title, for: "title")
      try context.save()
    }
  }
}
