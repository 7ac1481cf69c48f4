import CoherenceCore

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
  }
}
