import CoherenceCore
import Foundation

extension ConformanceSubject {
  static let models = ConformanceSubject("Models") {
    defaults
    inheritance
    validation
    uniqueness
  }

  // MARK: Defaults and requirements

  private static let presets: [String: any AttributeConvertible] = [
    "name": "unnamed", "int16": -16, "int32": 32, "int64": Int64.max, "bool": true, "float": Float(0.5),
    "double": 0.25, "decimal": Decimal(sign: .plus, exponent: -2, significand: 1999), "data": Data([1, 2, 3]),
    "date": Date(timeIntervalSince1970: 86_400), "uuid": UUID.attributeDefault, "url": "https://example.org/",
    "mood": Mood.calm,
  ]

  private static let fractions = soundModel {
    Entity("Fraction") {
      Attribute("double", .double, default: 1)
      Attribute("float", .float, default: 2)
      Attribute("decimal", .decimal, default: 3)
    }
  }

  @CasesBuilder private static var defaults: [Case] {
    Case("a new object has the default of every type", model: Samples.model) { stack in
      try stack.read { context in
        let preset = try context.make("Preset")
        for (name, value) in presets { try expectEqual(try preset.value(for: name), value.attributeValue, name) }
      }
    }
    Case("defaults are saved", model: Samples.model) { stack in
      try stack.write { try $0.make("Preset") }
      try stack.reopen()
      try stack.read { context in
        let preset = try context.one("Preset")
        for (name, value) in presets { try expectEqual(try preset.value(for: name), value.attributeValue, name) }
      }
    }
    Case("a whole number as the default of a fraction is a fraction", model: fractions) { stack in
      try stack.write { context in
        let object = try context.make("Fraction")
        try expectEqual(try object.value(for: "double"), .double(1), "the default of a new object")
      }
      try stack.reopen()
      try stack.read { context in
        let object = try context.one("Fraction")
        try expectEqual(try object.value(for: "double"), .double(1), "the double")
        try expectEqual(try object.value(for: "float"), .double(2), "the float")
        try expectEqual(try object.value(for: "decimal"), .decimal(3), "the decimal")
      }
    }
    Case("an optional attribute without default is null", model: Samples.model) { stack in
      try stack.write { try $0.make("Sample") }
      try stack.read { context in
        let sample = try context.one("Sample")
        for attribute in sample.entity.attributes {
          try expectEqual(try sample.value(for: attribute.name), .null, attribute.name)
        }
      }
    }
    Case("a required attribute without a value keeps an object from being saved", model: Samples.model) { stack in
      try stack.read { context in
        let player = try context.make("Player")
        let error = try expectThrows(.validationFailed) { try context.save() }
        try expectEqual(error.failures.map(\.propertyName), ["name"])
        try expectEqual(error.failures.map(\.code), [.missingValue])
        try player.setValue("a", for: "name")
        try context.save()
      }
    }
    Case("a required attribute whose default was cleared fails validation", model: Samples.model) { stack in
      try stack.read { context in
        let preset = try context.make("Preset")
        try preset.setValue(nil, for: "name")
        let error = try expectThrows(.validationFailed) { try context.save() }
        try expectEqual(error.failures.map(\.propertyName), ["name"])
      }
    }
  }

  // MARK: Inheritance

  @CasesBuilder private static var inheritance: [Case] {
    Case("a subentity has its ancestors' properties") { stack in
      try stack.write { try $0.make("Legend", ["name": "Ella", "country": "US", "rating": 5, "honours": 7]) }
      try stack.reopen()
      try stack.read { context in
        let legend = try context.one("Performer")
        try expectEqual(legend.entity.name, "Legend")
        try expectEqual(try legend.value(for: "name", as: String.self), "Ella")
        try expectEqual(try legend.value(for: "rating", as: Double.self), 5)
        try expectEqual(try legend.value(for: "honours", as: Int16.self), 7)
      }
    }
    Case("a fetch of any entity returns objects of the class of their own entity") { stack in
      try stack.write { context in
        for entity in ["Artist", "Legend", "Band"] { try context.make(entity, ["name": entity]) }
      }
      try stack.read { context in
        for performer in try context.all("Performer") {
          try expectEqual("\(type(of: performer))", performer.entity.name)
          try expectEqual(try performer.label, performer.entity.name)
        }
      }
    }
    Case("siblings share a space of keys, so that an identifier belongs to one record") { stack in
      let ids = try stack.write { context in
        let objects = try ["Artist", "Band", "Legend", "Band"].map { try context.make($0, ["name": $0]) }
        try context.obtainPermanentIDs(for: objects)
        return objects.map(\.objectID)
      }
      try expectEqual(Set(ids).count, 4)
      try stack.read { context in
        try expectEqual(
          try ids.map { try context.existingObject(with: $0).entity.name },
          [
            "Artist", "Band", "Legend", "Band",
          ])
      }
    }
    Case("an abstract entity cannot be inserted") { stack in
      try stack.read { context in
        let error = try expectThrows(.unknownEntity) { try context.insertNewObject(forEntityName: "Performer") }
        try expect(error.message.contains("Performer"), "the message to name the entity")
      }
    }
    Case("a relationship to an abstract entity leads to any of its subentities") { stack in
      try stack.write { context in
        for entity in ["Artist", "Legend", "Band"] {
          let performer = try context.make(entity, ["name": entity])
          try context.make("Album", ["title": entity]).setObject(performer, for: "artist")
        }
      }
      try stack.reopen()
      try stack.read { context in
        for album in try context.all("Album") {
          try expectEqual(try album.object(for: "artist")?.entity.name, try album.label)
        }
      }
    }
    Case("an inherited relationship keeps its inverse") { stack in
      try stack.write { context in
        let legend = try context.make("Legend", ["name": "Ella"])
        try legend.setObjects([try context.make("Album", ["title": "A"])], for: "albums")
      }
      try stack.read { context in
        try expectEqual(try context.one("Album").object(for: "artist")?.label, "Ella")
      }
    }
  }

  // MARK: Validation

  @CasesBuilder private static var validation: [Case] {
    Case("all failures of all objects are reported at once", model: Samples.model) { stack in
      try stack.read { context in
        try context.make("Account", ["name": "x"])
        try context.make("Player")
        let error = try expectThrows(.validationFailed) { try context.save() }
        let found = Set(error.failures.map { "\($0.entityName).\($0.propertyName)" })
        try expectEqual(found, ["Account.name", "Account.email", "Account.owner", "Player.name"])
        try expectEqual(error.outcome, .notApplied)
      }
    }
    invalid("a text that is too short", "name", "x")
    invalid("a text that is too long", "name", "123456789")
    invalid("a number below the minimum", "age", 17)
    invalid("a number above the maximum", "age", 121)
    invalid("a text that only contains the pattern", "code", "xAB12")
    invalid("data that is too short", "key", Data([1]))
    invalid("data that is too long", "key", Data(count: 5))
    invalid("a date before the minimum", "since", Date(timeIntervalSince1970: -1))
    invalid("a decimal below the minimum", "balance", decimal("-0.01"))
    Case("patterns of one text in two canonical forms are two patterns") { stack in
      let model = try ManagedObjectModel {
        Entity("Word") {
          Attribute("composed", .string, optional: true, validation: [.pattern("\u{E9}")])
          Attribute("decomposed", .string, optional: true, validation: [.pattern("e\u{301}")])
        }
      }
      try stack.reopen(at: try stack.makeLocation(), model: model)
      try stack.write { try $0.make("Word", ["composed": "\u{E9}", "decomposed": "e\u{301}"]) }
      try stack.read { context in
        try context.make("Word", ["composed": "e\u{301}"])
        try expectThrows(.validationFailed) { try context.save() }
      }
    }
    Case("values at the bounds are valid", model: Samples.model) { stack in
      try stack.write { context in
        let owner = try context.make("Owner", ["name": "o"])
        for (name, age, key) in [("ab", 18, Data(count: 2)), ("12345678", 120, Data(count: 4))] {
          let account = try context.make("Account", ["name": name, "email": "e", "age": age, "key": key])
          try account.setValue("AB1", for: "code")
          try account.setValue(Date(timeIntervalSince1970: 0), for: "since")
          try account.setValue(Decimal(0), for: "balance")
          try account.setObject(owner, for: "owner")
        }
      }
      try stack.read { try expectEqual(try $0.number(of: "Account"), 2) }
    }
    Case("more members than the maximum are refused", model: Samples.model) { stack in
      try stack.read { context in
        let owner = try context.make("Owner", ["name": "o"])
        for _ in 0..<3 {
          try context.make("Account", ["name": "ab", "email": "e"]).setObject(owner, for: "owner")
        }
        let error = try expectThrows(.validationFailed) { try context.save() }
        try expectEqual(error.failures.map(\.propertyName), ["accounts"])
      }
    }
    Case("fewer members than the minimum are refused", model: Samples.model) { stack in
      try stack.read { context in
        try context.make("Team", ["name": "t"])
        let error = try expectThrows(.validationFailed) { try context.save() }
        try expectEqual(error.failures.map(\.propertyName), ["players"])
      }
    }
    Case("a validation rule in code throws its own message", model: Samples.model) { stack in
      try stack.read { context in
        try context.make("Owner", ["name": "nobody"])
        let error = try expectThrows(.validationFailed) { try context.save() }
        try expect(error.failures.contains { $0.reason.contains("nobody is called") }, "the words of the rule")
      }
    }
    Case("a change that breaks a rule is refused and the record stays", model: Samples.model) { stack in
      try stack.write { try $0.make("Player", ["name": "a"]) }
      try stack.read { context in
        try context.one("Player").setValue(nil, for: "name")
        try expectThrows(.validationFailed) { try context.save() }
      }
      try stack.read { try expectEqual(try $0.names("Player"), ["a"]) }
    }
  }

  private static func invalid(_ what: String, _ attribute: String, _ value: some AttributeConvertible) -> Case {
    Case("\(what) is invalid", model: Samples.model) { stack in
      try stack.read { context in
        let account = try context.make("Account", ["name": "name", "email": "e"])
        try account.setValue(value, for: attribute)
        try account.setObject(try context.make("Owner", ["name": "o"]), for: "owner")
        let error = try expectThrows(.validationFailed) { try context.save() }
        try expectEqual(error.failures.map(\.propertyName), [attribute])
        try expectEqual(error.failures.map(\.code), [.invalidValue])
        try expectEqual(error.failures.map(\.objectID), [account.objectID])
      }
    }
  }

  // MARK: Uniqueness

  @CasesBuilder private static var uniqueness: [Case] {
    Case("two records cannot share a unique value") { stack in
      try stack.write { try $0.make("Genre", ["name": "Jazz"]) }
      try stack.read { context in
        let genre = try context.make("Genre", ["name": "Jazz"])
        let error = try expectThrows(.uniquenessViolated) { try context.save() }
        try expect(error.objectIDs.contains(genre.objectID), "the error to name the record")
        try expect(!"\(error)".contains("Jazz"), "the error not to contain the value")
      }
      try stack.read { try expectEqual(try $0.number(of: "Genre"), 1) }
    }
    Case("of many new records the error names the record with a used unique value") { stack in
      try stack.write { try $0.make("Genre", ["name": "Genre 70"]) }
      try stack.read { context in
        let genres = try (0..<100).map { try context.make("Genre", ["name": "Genre \($0)"]) }
        let error = try expectThrows(.uniquenessViolated) { try context.save() }
        try expectEqual(error.objectIDs.filter(\.isTemporaryID), [genres[70].objectID])
        try genres[70].setValue("Another", for: "name")
        try context.save()
      }
      try stack.read { try expectEqual(try $0.number(of: "Genre"), 101) }
    }
    Case("two new records cannot share a unique value") { stack in
      try stack.read { context in
        for _ in 0..<2 { try context.make("Genre", ["name": "Jazz"]) }
        try expectThrows(.uniquenessViolated) { try context.save() }
      }
      try stack.read { try expectEqual(try $0.number(of: "Genre"), 0) }
    }
    Case("missing values are not compared for uniqueness") { stack in
      try stack.write { context in for _ in 0..<3 { try context.make("Album", ["title": "A"]) } }
      try stack.read { try expectEqual(try $0.number(of: "Album"), 3) }
    }
    Case("the attributes that an entity names as its key are unique together") { stack in
      let model = try ManagedObjectModel(name: "Keys") {
        Entity("Place", userInfo: [EntityDescription.keySetting: "zip, street"]) {
          Attribute("zip", .string, optional: true)
          Attribute("street", .string, optional: true)
        }
      }
      try stack.reopen(at: try stack.makeLocation(), model: model)
      try stack.write { context in
        for (zip, street) in [("1", "A"), ("1", "B"), ("2", "A"), ("1", nil), ("1", nil)] as [(String, String?)] {
          let place = try context.make("Place", ["zip": zip])
          try place.setValue(street, for: "street")
        }
      }
      try stack.read { context in
        try context.make("Place", ["zip": "1", "street": "B"])
        try expectThrows(.uniquenessViolated) { try context.save() }
      }
      try stack.read { try expectEqual(try $0.number(of: "Place"), 5) }
    }
    Case("unique values differ by their bytes") { stack in
      try stack.write { context in
        for name in ["jazz", "Jazz", "caf\u{E9}", "cafe\u{301}", "jazz "] { try context.make("Genre", ["name": name]) }
      }
      try stack.read { try expectEqual(try $0.number(of: "Genre"), 5) }
    }
    Case("a unique value of a deleted record is free in the same save") { stack in
      try stack.write { try $0.make("Genre", ["name": "Jazz"]) }
      try stack.write { context in
        context.delete(try context.one("Genre"))
        try context.make("Genre", ["name": "Jazz"])
      }
      try stack.read { try expectEqual(try $0.names("Genre"), ["Jazz"]) }
    }
    Case("a unique value moves from one record to another in one save") { stack in
      try stack.write { context in
        try context.make("Album", ["title": "A", "barcode": "1"])
        try context.make("Album", ["title": "B"])
      }
      try stack.write { context in
        try context.one("Album", where: equal("title", "A")).setValue(nil, for: "barcode")
        try context.one("Album", where: equal("title", "B")).setValue("1", for: "barcode")
      }
      try stack.read { try expectEqual(try $0.names("Album", where: equal("barcode", "1")), ["B"]) }
    }
    Case("unique values are swapped in one save, or refused without a change") { stack in
      try stack.write { context in
        for name in ["1", "2"] { try context.make("Album", ["title": name, "barcode": name]) }
      }
      let isSwapped = try stack.read { context in
        try context.one("Album", where: equal("title", "1")).setValue("2", for: "barcode")
        try context.one("Album", where: equal("title", "2")).setValue("1", for: "barcode")
        do {
          try context.save()
          return true
        } catch ErrorCode.uniquenessViolated {
          return false
        }
      }
      try stack.read {
        let title = try $0.one("Album", where: equal("barcode", "1")).label
        try expectEqual(title, isSwapped ? "2" : "1")
      }
    }
  }
}
