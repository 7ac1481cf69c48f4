import CoherenceCore
import Foundation

extension ConformanceSubject {
  private static var constrained: Library { base.changed { $0.uniqueness = [["isbn"]] } }

  private static func expectConstraint(in stack: ConformanceStack) throws {
    try stack.read { context in
      try context.make("Book", ["title": "copy", "isbn": "0"])
      _ = try expectThrows(.uniquenessViolated) { try context.save() }
      context.rollback()
    }
  }

  @CasesBuilder static var constraintsOfNewestModel: [Case] {
    Case("a constraint of the newest model holds for an older one that the store does not know") { stack in
      let newest = try constrained.changed { $0.book.append(Attribute("language", .string, optional: true)) }.model
      try stack.reopen(at: try stack.makeLocation(), model: newest)
      try stack.write(fillLibrary)
      let older = try base.model
      for _ in 0..<2 {
        try stack.reopen(model: older)
        try expectConstraint(in: stack)
        try stack.write { try $0.make("Book", ["title": "new"]) }
      }
      try stack.reopen(model: newest)
      try expectConstraint(in: stack)
      try stack.reopen(model: older)
      try expectConstraint(in: stack)
    }
    Case("a constraint ends with a model that keeps all other parts of the newest model") { stack in
      let first = try constrained.changed { $0.book.append(Attribute("language", .string, optional: true)) }.model
      try stack.reopen(at: try stack.makeLocation(), model: first)
      try stack.write(fillLibrary)
      // The newest model leaves an attribute of the first model out.
      try stack.reopen(model: try constrained.model)
      try expectConstraint(in: stack)
      try stack.reopen(model: try base.model)
      try stack.write { try $0.make("Book", ["title": "copy", "isbn": "0"]) }
      try stack.read { try expectEqual(try $0.number(of: "Book", where: equal("isbn", "0")), 2) }
    }
    Case("a constraint that stays for a newest model ends with a later model that adds an attribute") { stack in
      let first = try constrained.changed { $0.book.append(Attribute("language", .string, optional: true)) }.model
      try stack.reopen(at: try stack.makeLocation(), model: first)
      try stack.write(fillLibrary)
      try stack.reopen(model: try base.model)
      try expectConstraint(in: stack)
      try stack.reopen(model: try base.changed { $0.book.append(Attribute("shelf", .string, optional: true)) }.model)
      try stack.write { try $0.make("Book", ["title": "copy", "isbn": "0"]) }
      try stack.read { try expectEqual(try $0.number(of: "Book", where: equal("isbn", "0")), 2) }
    }
  }

  @CasesBuilder static var referencesOfNewestModel: [Case] {
    Case("references that the newest model checks are cleared by an older one that the store does not know") { stack in
      func library(_ rule: DeleteRule, _ names: String...) -> Library {
        base.changed {
          for name in names { $0.book.append(Attribute(name, .string, optional: true)) }
          let books = Relationship("books", toMany: "Book", inverse: "author", deleteRule: rule)
          Library.replace("books", in: &$0.author, by: books)
        }
      }
      func deleteAuthor() throws {
        try stack.write { context in
          let author = try context.make("Author", ["name": "new"])
          try context.one("Book", where: equal("title", "Egla")).setObject(author, for: "author")
        }
        try stack.write { $0.delete(try $0.one("Author", where: equal("name", "new"))) }
      }
      try stack.reopen(at: try stack.makeLocation(), model: try library(.nullify, "language").model)
      try stack.write(fillLibrary)
      for _ in 0..<2 {
        try stack.reopen(model: try library(.noAction).model)
        try deleteAuthor()
        try stack.read { try expectEqual(try $0.names("Book", where: equal("author", nil)), ["Egla"]) }
      }
      // A model with all parts of the newest model ends the check.
      try stack.reopen(model: try library(.noAction, "language", "shelf").model)
      try deleteAuthor()
      try stack.read { try expectEqual(try $0.names("Book", where: equal("author", nil)), []) }
    }
  }

  @CasesBuilder static var recordsOfModels: [Case] {
    Case("a store records its latest hundred models, and opens with an earlier one as with an unknown model") { stack in
      func model(_ number: Int) throws -> ManagedObjectModel {
        try base.changed { $0.book.append(Attribute("added\(number)", .int32, optional: true)) }.model
      }
      func age(_ number: Int) throws -> ModelAge {
        try stack.store.metadata().age(ofModelWith: try model(number).versionHashes.mapValues(\.rawValue))
      }
      try stack.reopen(at: try stack.makeLocation(), model: try model(0))
      try stack.write(fillLibrary)
      for number in 1...99 { try stack.reopen(model: try model(number)) }
      try expectEqual(try age(0), .older)
      try stack.reopen(model: try model(0))
      try expectEqual(try [age(0), age(99)], [.older, .newest])
      try expectEqual(try stack.store.metadata().models.count, 100)
      try stack.reopen(model: try model(100))
      try expectEqual(try [age(0), age(1), age(100)], [.unseen, .older, .newest])
      try expectEqual(try stack.store.metadata().models.count, 100)
      try stack.reopen(model: try model(0))
      try expectEqual(try [age(0), age(1), age(2), age(100)], [.newest, .unseen, .older, .older])
      try expectEqual(try stack.store.metadata().models.count, 100)
      try stack.read { try expectEqual(try $0.names("Book"), ["Edda", "Egla"]) }
    }
  }

  @CasesBuilder static var defaultsOfNewestModel: [Case] {
    Case("a required attribute that got its default later has the default in records of a program without it") {
      stack in
      func library(_ shelf: Attribute) -> Library { base.changed { $0.book.append(shelf) } }
      try stack.reopen(at: try stack.makeLocation(), model: try base.model)
      let older = stack.model
      // No book is stored yet, so that a required attribute without a default can be added.
      try stack.reopen(model: try library(Attribute("shelf", .string)).model)
      let newer = try library(Attribute("shelf", .string, default: "none")).model
      try stack.reopen(model: newer)
      try stack.reopen(model: older)
      try stack.write { try $0.make("Book", ["title": "new"]) }
      try stack.reopen(model: newer)
      try stack.read { try expectEqual(try $0.names("Book", where: equal("shelf", "none")), ["new"]) }
    }
    Case("a default date that a store cannot keep is refused as an invalid value, and leaves the store as it is") {
      stack in
      let date = Date(timeIntervalSince1970: -300_000_000_000)
      try stack.reopen(at: try stack.makeLocation(), model: try base.model)
      do {
        try stack.reopen(model: try base.changed { $0.book.append(Attribute("written", .date, default: date)) }.model)
        try stack.write { try $0.make("Book", ["title": "new"]) }
        try stack.reopen()
        try stack.read { try expectEqual(try $0.one("Book").value(for: "written", as: Date.self), date) }
      } catch ErrorCode.invalidValue {
        try stack.reopen(model: try base.model)
        try stack.read { try expectEqual(try $0.number(of: "Book"), 0) }
      }
    }
  }
}
