import CoherenceCore
import Foundation

extension ConformanceSubject {
  static let convertedTypes = ConformanceSubject("Converted types") {
    widerNumbers
    narrowerNumbers
    ownConversions
    openPrograms
  }

  /// The library with another attribute in the place of the pages.
  private static func pages(_ attribute: Attribute, indexed: Bool = false) throws -> ManagedObjectModel {
    try base.changed {
      Library.replace("pages", in: &$0.book, by: attribute)
      if indexed { $0.uniqueness = [["pages"]] }
    }.model
  }

  /// Opens a fresh store, and writes a book for each value and one without.
  private static func fill(
    _ stack: ConformanceStack, _ attribute: Attribute, _ values: [any AttributeConvertible], indexed: Bool = false
  ) throws {
    try stack.reopen(at: try stack.makeLocation(), model: try pages(attribute, indexed: indexed))
    try stack.write { context in
      for (index, value) in values.enumerated() { try context.make("Book", ["title": "\(index)", "pages": value]) }
      try context.make("Book", ["title": "none"])
    }
  }

  /// Reads the value of each book, and finds each book by its value.
  private static func expectPages(_ values: [any AttributeConvertible], in stack: ConformanceStack) throws {
    try stack.read { context in
      for (index, value) in values.enumerated() {
        let book = try context.one("Book", where: equal("title", "\(index)"))
        try expectEqual(try book.value(for: "pages"), value.attributeValue, "the value of '\(index)'")
        let found = try context.names("Book", where: equal("pages", value))
        try expect(found.contains("\(index)"), "'\(index)' to be found by its value")
      }
      try expectEqual(try context.names("Book", where: equal("pages", nil)), ["none"], "the books without a value")
    }
  }

  /// Values of one type become values of another when the store is opened with the other model.
  private static func converted(
    _ sentence: String, _ old: AttributeType, _ before: [any AttributeConvertible], _ new: AttributeType,
    _ after: [any AttributeConvertible]
  ) -> Case {
    Case(sentence) { stack in
      try fill(stack, Attribute("pages", old, optional: true), before)
      try stack.reopen(model: try pages(Attribute("pages", new, optional: true)))
      try expectPages(after, in: stack)
      try stack.write { context in
        try context.one("Book", where: equal("title", "none")).setValue(after[0], for: "pages")
      }
      try stack.reopen()
      try stack.write { try $0.one("Book", where: equal("title", "none")).setValue(nil, for: "pages") }
      try expectPages(after, in: stack)
    }
  }

  /// A value that does not fit keeps the store closed to the new model. If data loss is allowed, only that value is
  /// dropped.
  private static func narrowed(
    _ sentence: String, _ old: AttributeType, _ before: [any AttributeConvertible], _ new: AttributeType,
    _ after: [any AttributeConvertible], misfit: any AttributeConvertible
  ) -> Case {
    Case(sentence) { stack in
      try fill(stack, Attribute("pages", old, optional: true), before)
      try stack.write { try $0.make("Book", ["title": "misfit", "pages": misfit]) }
      let original = stack.model
      let changed = try pages(Attribute("pages", new, optional: true))
      let error = try expectThrows(.incompatibleModel) { try stack.reopen(model: changed) }
      for word in ["Book.pages", "converting", StoreOption.allowsDataLoss] {
        try expect(error.message.contains(word), "the message to name '\(word)': \(error.message)")
      }
      try expectEqual(error.dataLosses.map(\.count), [1], "the values that do not fit")
      try stack.reopen(model: original)
      try stack.read { try expectEqual(try $0.names("Book", where: equal("pages", misfit)), ["misfit"]) }
      try stack.write { $0.delete(try $0.one("Book", where: equal("title", "misfit"))) }
      try stack.reopen(model: changed)
      try expectPages(after, in: stack)
      // A store of its own shows the option.
      try stack.reopen(at: try stack.makeLocation(), model: original)
      try stack.write { context in
        try context.make("Book", ["title": "misfit", "pages": misfit])
        try context.make("Book", ["title": "0", "pages": before[0]])
      }
      try stack.reopen(model: changed, options: [StoreOption.allowsDataLoss: true])
      try stack.read { context in
        try expectEqual(try context.names("Book", where: equal("pages", nil)), ["misfit"], "the dropped value")
        try expectEqual(try context.names("Book", where: equal("pages", after[0])), ["0"], "the values that fit")
      }
    }
  }

  // MARK: Numbers

  @CasesBuilder private static var widerNumbers: [Case] {
    converted(
      "16-bit integers become 32-bit integers", .int16, [Int16.min, Int16.max, 0], .int32,
      [Int32(Int16.min), Int32(Int16.max), Int32(0)])
    converted(
      "32-bit integers become 64-bit integers", .int32, [Int32.min, Int32.max], .int64,
      [Int64(Int32.min), Int64(Int32.max)])
    converted("16-bit integers become floats", .int16, [Int16.min, Int16(7)], .float, [Float(Int16.min), Float(7)])
    converted("32-bit integers become doubles", .int32, [Int32.min, Int32(7)], .double, [Double(Int32.min), 7.0])
    converted(
      "64-bit integers become decimals", .int64, [Int64.min, Int64.max, 100], .decimal,
      [Decimal(Int64.min), Decimal(Int64.max), Decimal(100)])
    converted(
      "floats become doubles of the same value", .float, [Float(0.1), Float.infinity], .double,
      [Double(Float(0.1)), Double.infinity])
    converted("booleans become integers", .bool, [true, false], .int64, [1, 0])
    Case("an attribute is renamed and becomes a wider one at once, and the older model is refused from then on") {
      stack in
      try fill(stack, Attribute("pages", .int16, optional: true), [Int16(7)])
      let first = stack.model
      let second = try base.changed {
        Library.replace("pages", in: &$0.book, by: Attribute("extent", .int64, default: 9, formerNames: ["pages"]))
      }.model
      try stack.reopen(model: second)
      try stack.write { context in
        try expectEqual(try context.names("Book", where: equal("extent", 7)), ["0"], "the value that was there")
        try expectEqual(try context.names("Book", where: equal("extent", 9)), ["none"], "the default")
        try context.one("Book", where: equal("title", "0")).setValue(Int64.max, for: "extent")
      }
      _ = try expectThrows(.incompatibleModel) { try stack.reopen(model: first) }
      try stack.reopen(model: second)
      try stack.read { try expectEqual(try $0.names("Book", where: equal("extent", Int64.max)), ["0"]) }
    }
    Case("values of another type stay unique") { stack in
      try fill(stack, Attribute("pages", .int16, optional: true), [Int16(7)], indexed: true)
      try stack.reopen(model: try pages(Attribute("pages", .double, optional: true), indexed: true))
      try expectPages([7.0], in: stack)
      _ = try expectThrows(.uniquenessViolated) {
        try stack.write { try $0.make("Book", ["title": "again", "pages": 7.0]) }
      }
    }
  }

  @CasesBuilder private static var narrowerNumbers: [Case] {
    narrowed(
      "a number out of the range of a smaller integer is refused", .int64, [Int64(Int16.max)], .int16, [Int16.max],
      misfit: Int64(Int16.max) + 1)
    narrowed(
      "an integer that no double holds is refused", .int64, [Int64(7)], .double, [7.0],
      misfit: Int64(9_007_199_254_740_993))
    narrowed("a double with a fraction is refused as an integer", .double, [-7.0], .int32, [Int32(-7)], misfit: 2.5)
    narrowed("a double out of range is refused as an integer", .double, [7.0], .int64, [Int64(7)], misfit: 1e300)
    narrowed(
      "an integer other than zero and one is refused as a boolean", .int32, [Int32(1)], .bool, [true],
      misfit: Int32(2))
  }

  // MARK: Conversions of attributes

  private static func isbn(
    _ type: AttributeType, optional: Bool = true, _ conversion: @escaping ValueConversion
  ) throws -> ManagedObjectModel {
    try base.changed {
      Library.replace("isbn", in: &$0.book, by: Attribute("isbn", type, optional: optional, converting: conversion))
    }.model
  }

  /// Reads the digits of a text; a missing text becomes zero.
  private static let digits: ValueConversion = { old in
    guard case .string(let text) = old else { return .int(0) }
    guard let number = Int64(text) else { throw CoherenceError(.invalidValue, "A number has digits.") }
    return .int(number)
  }

  @CasesBuilder private static var ownConversions: [Case] {
    Case("an attribute's conversion is called for every record, also for records without a value") { stack in
      try stack.reopen(at: try stack.makeLocation(), model: try base.model)
      try stack.write { context in
        for number in 0..<1_100 { try context.make("Book", ["title": "\(number)", "isbn": "\(number * 3)"]) }
        try context.make("Book", ["title": "none"])
      }
      let changed = try isbn(.int64, optional: false, digits)
      for _ in 0..<2 {
        try stack.reopen(model: changed)
        try stack.read { context in
          for (title, isbn) in [("0", 0), ("499", 1_497), ("500", 1_500), ("1099", 3_297), ("none", 0)] {
            let book = try context.one("Book", where: equal("title", title))
            try expectEqual(try book.value(for: "isbn"), .int(Int64(isbn)), "the number of '\(title)'")
          }
          try expectEqual(try context.number(of: "Book", where: compare("isbn", .greater, 3_000)), 99)
        }
      }
    }
    Case("an attribute's conversion is called for each of 499, 500 and 501 records") { stack in
      let changed = try isbn(.int64, optional: false, digits)
      for count in [499, 500, 501] {
        try stack.reopen(at: try stack.makeLocation(), model: try base.model)
        try stack.write { context in
          for number in 0..<count { try context.make("Book", ["title": "\(number)", "isbn": "\(number * 3)"]) }
        }
        try stack.reopen(model: changed)
        try stack.read { context in
          let numbers = try context.all("Book").map { try $0.value(for: "isbn") }
          try expectEqual(numbers.count, count)
          try expectEqual(Set(numbers), Set((0..<count).map { AttributeValue.int(Int64($0 * 3)) }))
        }
      }
    }
    Case("a conversion gets the texts of weak references") { stack in
      func notes(_ person: Attribute) throws -> ManagedObjectModel {
        try ManagedObjectModel {
          Entity("Person") { Attribute("name", .string) }
          Entity("Note") {
            Attribute("name", .string)
            person
          }
        }
      }
      let first = try notes(Attribute("person", .weakReference(to: "Person"), optional: true))
      try stack.reopen(at: try stack.makeLocation(), model: first)
      let text = try stack.write { context in
        let person = try context.make("Person", ["name": "Ari"])
        try context.make("Note", ["name": "a"]).setReferencedObject(person, for: "person")
        try context.save()
        return try StoredObjectID(person.objectID).description
      }
      try stack.reopen(
        model: try notes(
          Attribute(
            "person", .string, optional: true,
            converting: { old in
              if case .string(let text) = old { .string("see \(text)") } else { .null }
            })))
      try stack.read { try expectEqual(try $0.one("Note").value(for: "person"), .string("see \(text)")) }
    }
    Case("a conversion that throws or returns a wrong type leaves the store unchanged") { stack in
      try stack.reopen(at: try stack.makeLocation(), model: try base.model)
      try stack.write(fillLibrary)
      try stack.write { try $0.make("Book", ["title": "odd", "isbn": "x"]) }
      let original = stack.model
      let faulty = [
        try isbn(.int64, digits), try isbn(.int64) { _ in .string("7") },
        try isbn(.int64, optional: false) { _ in .null },
      ]
      for model in faulty {
        let error = try expectThrows(.incompatibleModel) { try stack.reopen(model: model) }
        try expect(error.message.contains("Book.isbn"), "the attribute in \(error.message)")
        try stack.reopen(model: original)
        try stack.read { try expectEqual(try $0.names("Book", where: equal("isbn", "x")), ["odd"]) }
      }
    }
  }

  @CasesBuilder private static var openPrograms: [Case] {
    Case("a program that has the store open with the earlier type neither reads nor writes converted values") { stack in
      try stack.reopen(at: try stack.makeLocation(), model: try base.model)
      try stack.write { try $0.make("Book", ["title": "A", "isbn": "7"]) }
      let context = stack.context()
      let later = stack.makeCoordinator(model: try isbn(.int64, digits))
      try stack.attach(stack.location, to: later)
      try context.performAndWait { _ = try expectThrows(.schemaChanged) { try context.all("Book") } }
      try context.performAndWait {
        try context.make("Book", ["title": "B", "isbn": "8"])
        _ = try expectThrows(.schemaChanged) { try context.save() }
      }
      let reader = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: later)
      try reader.performAndWait {
        try expectEqual(try reader.all("Book").map { try $0.value(for: "isbn") }, [.int(7)])
      }
    }
    Case("a program that has the store open with the earlier type of an attribute never reads or writes its later type")
    {
      stack in
      try stack.reopen(at: try stack.makeLocation(), model: try base.model)
      try stack.write { try $0.make("Book", ["title": "A"]) }
      let context = stack.context()
      // The attribute has no values, so that another type needs no conversion.
      let later = stack.makeCoordinator(model: try pages(Attribute("pages", .data, optional: true)))
      try stack.attach(stack.location, to: later)
      let writer = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: later)
      try writer.performAndWait {
        try writer.make("Book", ["title": "B", "pages": Data([7])])
        try writer.save()
      }
      try context.performAndWait { _ = try expectThrows(.schemaChanged) { try context.all("Book") } }
      try context.performAndWait {
        try context.make("Book", ["title": "C", "pages": Int32(8)])
        _ = try expectThrows(.schemaChanged) { try context.save() }
      }
      let reader = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: later)
      try reader.performAndWait {
        let values = try reader.all("Book", sort: [SortKey("title")]).map { try $0.value(for: "pages") }
        try expectEqual(values, [.null, .data(Data([7]))])
      }
    }
  }
}
