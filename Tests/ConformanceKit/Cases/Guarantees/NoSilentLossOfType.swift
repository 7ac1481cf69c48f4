import CoherenceCore
import Foundation

extension ConformanceSubject {
  static let noSilentLossOfType = ConformanceSubject("No silent loss of type") {
    stays("a text of digits", "string", "123")
    stays("a text of a fraction", "string", "1.50")
    stays("a text of a date", "string", "2001-01-01T00:00:00Z")
    stays("a text of a truth value", "string", "true")
    stays("a text of an exponent", "string", "1e5")
    stays("an empty text", "string", "")
    stays("data of a text", "data", Data("text".utf8))
    stays("data of sixteen bytes", "data", Data(0..<16))
    stays("an integer of one", "int64", 1)
    stays("a truth value", "bool", true)
    stays("a double that is whole", "double", 3.0)
    stays("a float that is whole", "float", Float(3))
    stays("a decimal that is whole", "decimal", Decimal(3))
    stays("a date that is whole", "date", Date(timeIntervalSince1970: 3))
    stays("a UUID", "uuid", UUID())
    together
  }

  /// A value comes back as the kind of value that it was, not as one that merely equals it.
  private static func stays(_ what: String, _ attribute: String, _ value: some AttributeConvertible) -> Case {
    Case("\(what) stays what it is", model: Samples.model) { stack in
      try stack.write { try $0.make("Sample", [attribute: value]) }
      try stack.reopen()
      try stack.read { context in
        let read = try context.one("Sample").value(for: attribute)
        try expectEqual(read.typeName, value.attributeValue.typeName, "the type")
        try expectEqual(read, value.attributeValue, "the value")
      }
    }
  }

  private static let everyType: [String: any AttributeConvertible] = [
    "int16": 1, "int32": 1, "int64": 1, "bool": true, "float": Float(1), "double": 1.0, "decimal": Decimal(1),
    "string": "1", "data": Data([49]), "date": Date(timeIntervalSince1970: 1), "uuid": UUID.attributeDefault,
    "url": "1", "mood": Mood.calm, "level": Level.low, "secret": Data([1]),
  ]

  private static func expectTypes(_ stack: ConformanceStack) throws {
    try stack.reopen()
    try stack.read { context in
      let sample = try context.one("Sample")
      for (name, value) in everyType {
        let read = try sample.value(for: name)
        try expectEqual(read.typeName, value.attributeValue.typeName, "the type of \(name)")
        try expectEqual(read, value.attributeValue, name)
      }
    }
  }

  @CasesBuilder private static var together: [Case] {
    Case("values of all types beside each other keep their types", model: Samples.model) { stack in
      try stack.write { try $0.make("Sample", everyType) }
      try expectTypes(stack)
    }
    Case("values written over missing ones keep their types", model: Samples.model) { stack in
      try stack.write { try $0.make("Sample") }
      try stack.write { context in
        let sample = try context.one("Sample")
        for (name, value) in everyType { try sample.setValue(value, for: name) }
      }
      try expectTypes(stack)
    }
    Case("values that a batch request writes keep their types", model: Samples.model) { stack in
      try stack.write { try $0.make("Sample") }
      try stack.read { _ = try $0.execute(BatchUpdateRequest(entityName: "Sample", values: everyType)) }
      try expectTypes(stack)
    }
    Case("values of many records written at once keep their types", model: Samples.model) { stack in
      try stack.write { context in for _ in 0..<1000 { try context.make("Sample", everyType) } }
      try stack.reopen()
      try stack.read { context in
        for sample in try context.all("Sample") {
          for (name, value) in everyType { try expectEqual(try sample.value(for: name), value.attributeValue, name) }
        }
      }
    }
  }
}
