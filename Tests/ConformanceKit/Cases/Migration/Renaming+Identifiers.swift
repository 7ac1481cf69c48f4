import CoherenceCore

extension ConformanceSubject {
  /// Notes with a weak reference to a person, with a name of choice for the entity of the people.
  private static func notes(about person: String, formerNames: [String] = []) throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity(person, formerNames: formerNames) { Attribute("name", .string) }
      Entity("Note") {
        Attribute("name", .string)
        Attribute("person", .weakReference(to: person), optional: true)
      }
    }
  }

  /// Each note leads to the one person, and is found by a reference to the person.
  private static func expectReferences(
    of notes: [String], to entity: String, in stack: ConformanceStack
  ) throws {
    try stack.read { context in
      let person = try context.one(entity)
      for note in try context.all("Note") {
        try expect(try note.referencedObject(for: "person") === person, "the person of a note")
      }
      try expectEqual(try context.names("Note", where: equal("person", WeakReference(to: person))), notes)
    }
  }

  @CasesBuilder static var identifiersOfRenamedEntities: [Case] {
    Case("the identifiers and weak references of a renamed entity lead to the same records, in every model") { stack in
      try stack.reopen(at: try stack.makeLocation(), model: try notes(about: "Person"))
      let first = stack.model
      let text = try stack.write { context in
        let person = try context.make("Person", ["name": "Ari"])
        try context.make("Note", ["name": "a"]).setReferencedObject(person, for: "person")
        try context.save()
        return try StoredObjectID(person.objectID).description
      }
      try stack.reopen(model: try notes(about: "Human", formerNames: ["Person"]))
      try expectReferences(of: ["a"], to: "Human", in: stack)
      try stack.write { context in
        let person = try context.one("Human")
        try expectEqual(try StoredObjectID(person.objectID).description, text, "the text after the rename")
        try expectEqual(stack.coordinator.objectID(forDescription: text), person.objectID)
        let store = try stack.store.identifier
        let present = "x-coherence://\(store)/Human/p\(person.objectID.key)"
        try expectEqual(stack.coordinator.objectID(forDescription: present), person.objectID)
        let references = try [text, present].map { WeakReference<ManagedObject>(try StoredObjectID(text: $0)) }
        let found = try context.objects(referencedBy: references)
        try expect(references.allSatisfy { found[$0] === person }, "the person by both names")
        try context.make("Note", ["name": "b"]).setReferencedObject(person, for: "person")
      }
      try stack.reopen(model: try notes(about: "Party", formerNames: ["Human", "Person"]))
      try expectReferences(of: ["a", "b"], to: "Party", in: stack)
      // The program before the renames resolves the references of the later programs.
      try stack.reopen(model: first)
      try expectReferences(of: ["a", "b"], to: "Person", in: stack)
    }
  }
}
