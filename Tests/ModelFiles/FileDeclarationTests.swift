import CoherenceCore
import CoherenceModelFiles
import Foundation
import Testing

@Suite("Model files: declarations of properties")
struct FileDeclarationTests {
  private func file(_ attribute: ModelFile.Attribute) -> ModelFile {
    ModelFile(entities: [ModelFile.Entity("A", attributes: [attribute])])
  }

  /// The declaration of an attribute of a file.
  private func declared(_ attribute: ModelFile.Attribute) throws -> Attribute {
    let whole = file(attribute)
    let properties = try whole.declaration(of: attribute, in: whole.entities[0])
    return try #require(properties.first as? Attribute)
  }

  /// The message of the error from the declaration of an attribute.
  private func fault(_ attribute: ModelFile.Attribute) throws -> String {
    let error = try #require(throws: CoherenceError.self) { try declared(attribute) }
    #expect(error.code == .invalidModel)
    return error.message
  }

  // MARK: Derived attributes

  private func kind(_ derivation: Derivation) -> ModelFile.AttributeKind {
    switch derivation {
    case .now: .date
    case .count: .int64
    case .average: .double
    default: .string
    }
  }

  static let derivations: [(String, Derivation)] = [
    ("canonical:(a)", .canonical("a")), (" lowercase: ( a_1 ) ", .lowercase("a_1")),
    ("uppercase:(ä2)", .uppercase("ä2")), ("now()", .now), ("b.a", .path("b.a")), ("b.c.a", .path("b.c.a")),
    ("bs.@count", .count("bs")), ("bs.@sum.n", .sum("bs.n")), ("bs.n.@sum", .sum("bs.n")),
    ("bs.@min.n", .minimum("bs.n")), ("bs.n.@max", .maximum("bs.n")), ("bs.@avg.n", .average("bs.n")),
  ]

  @Test(arguments: derivations)
  func `a derivation of the editor derives the attribute, which is optional`(
    text: String, derivation: Derivation
  ) throws {
    let attribute = ModelFile.Attribute("n", kind(derivation), derivation: text)
    let result = try declared(attribute)
    #expect(result.derived == derivation && result.isOptional)
    #expect(file(attribute).warnings == [])
  }

  @Test(arguments: [
    "canonical:()", "canonical:(a.b)", "canonical:(a", "canonical(a)", "fold:(a)", "now", "a", "a.", ".a", "a..b",
    "@count", "bs.@count.n", "bs.n.@count", "bs.@sum", "bs.@sum.@count", "b.c.@min.n", "@sum.bs.n", "bs.@middle.n",
    "bs.@.n", "b.a-c",
  ])
  func `an attribute with another derivation is an ordinary optional one, with a warning`(text: String) throws {
    let attribute = ModelFile.Attribute("n", .int64, derivation: text)
    let result = try declared(attribute)
    #expect(result.derived == nil && result.isOptional)
    let warnings = file(attribute).warnings
    #expect(warnings.count == 1 && warnings[0].contains("'A.n' is not derived by '\(text)'"), "\(warnings)")
  }

  @Test func `an attribute of another type than its derivation is an ordinary optional one, with a warning`() throws {
    let attribute = ModelFile.Attribute("n", .string, derivation: "bs.@count")
    #expect(try declared(attribute).derived == nil)
    let warnings = file(attribute).warnings
    #expect(warnings.count == 1 && warnings[0].contains("declare the attribute as one"))
  }

  @Test func `the default and the rules of a derived attribute are left out, with a warning`() throws {
    for attribute in [
      ModelFile.Attribute("n", .string, default: "x", derivation: "canonical:(a)"),
      ModelFile.Attribute("n", .string, minimum: "1", derivation: "canonical:(a)"),
    ] {
      let result = try declared(attribute)
      #expect(result.defaultValue.isNull && result.validation.isEmpty && result.derived == .canonical("a"))
      let warnings = file(attribute).warnings
      #expect(warnings == ["Attribute 'A.n' is derived; its default and its rules are left out."])
    }
  }

  // MARK: Defaults, types and rules

  @Test func `the text of a default has the type of its attribute`() throws {
    let defaults: [(ModelFile.AttributeKind, String, AttributeValue)] = [
      (.int32, "", .null), (.string, "", .string("")), (.int64, "2.0", .int(2)), (.int16, "-3", .int(-3)),
      (.bool, "true", .bool(true)), (.bool, "1", .bool(true)), (.bool, "No", .bool(false)), (.bool, "0", .bool(false)),
      (.double, "1e2", .double(100)), (.decimal, "-1.5e1", .decimal(-15)), (.date, "", .null),
      (.date, "-0.5", Date(timeIntervalSinceReferenceDate: -0.5).attributeValue),
    ]
    for (kind, text, value) in defaults {
      #expect(try declared(ModelFile.Attribute("n", kind, default: text)).defaultValue == value, "\(kind) \(text)")
    }
    let bytes = ModelFile.Attribute("n", .data, default: "AQI=", userInfo: ["coherence.default": "AQM="])
    #expect(try declared(bytes).defaultValue == .data(Data([1, 3])))
    #expect(try declared(bytes).userInfo == [:])
    let noBytes = ModelFile.Attribute("n", .data, userInfo: ["coherence.default": ""])
    #expect(try declared(noBytes).defaultValue == .data(Data()))
  }

  @Test func `bounds of texts and bytes count characters and bytes, and bounds of numbers are values`() throws {
    for kind in [ModelFile.AttributeKind.string, .data] {
      let pattern = kind == .string ? "a*" : nil
      let attribute = ModelFile.Attribute("n", kind, minimum: "0", maximum: "9", pattern: pattern)
      var rules: [ValidationRule] = [.minimumLength(0), .maximumLength(9)]
      if let pattern { rules.append(.pattern(pattern)) }
      #expect(try declared(attribute).validation == rules)
      let low = try fault(ModelFile.Attribute("n", kind, minimum: "-1"))
      #expect(low.contains("The minimum of 'A.n' is not a number of characters"))
      let broken = try fault(ModelFile.Attribute("n", kind, maximum: "1.5"))
      #expect(broken.contains("The maximum of 'A.n' is not a number of characters"))
    }
    let number = ModelFile.Attribute("n", .int32, minimum: "-1", maximum: "2")
    #expect(try declared(number).validation == [.minimum(.int(-1)), .maximum(.int(2))])
  }

  @Test(arguments: [ModelFile.AttributeKind.bool, .uuid])
  func `a bound of a type without an order is left out, with a warning`(kind: ModelFile.AttributeKind) throws {
    let attribute = ModelFile.Attribute("n", kind, maximum: "1")
    #expect(try declared(attribute).validation.isEmpty)
    #expect(file(attribute).warnings == ["The maximum of 'A.n' has no effect: its type has no order."])
  }

  @Test func `a pattern of a type without texts is left out, with a warning`() throws {
    let attribute = ModelFile.Attribute("n", .uuid, pattern: "a*")
    #expect(try declared(attribute).validation.isEmpty)
    #expect(file(attribute).warnings == ["The pattern of 'A.n' has no effect: its type is no text."])
  }

  private func typed(_ kind: ModelFile.AttributeKind, _ settings: [String: String]) -> ModelFile.Attribute {
    var userInfo = ["note": "kept"]
    for (name, value) in settings { userInfo["coherence.\(name)"] = value }
    return ModelFile.Attribute("n", kind, userInfo: userInfo)
  }

  @Test func `settings of the user info name the types that the editor does not have`() throws {
    let types: [(ModelFile.Attribute, AttributeType)] = [
      (typed(.data, ["type": "codable"]), .codable),
      (typed(.string, ["type": "weakReference", "entity": "B"]), .weakReference(to: "B")),
      (typed(.int16, ["type": "enumeration"]), .enumeration(raw: .int16, cases: nil)),
      (
        typed(.int16, ["type": "enumeration", "cases": #"["1","-2"]"#]),
        .enumeration(raw: .int16, cases: [.int(1), .int(-2)])
      ),
    ]
    for (attribute, type) in types {
      let result = try declared(attribute)
      #expect(result.type == type)
      #expect(result.userInfo == ["note": "kept"])
    }
  }

  @Test(arguments: [#"["1","x"]"#, "[]", "1, 2"])
  func `cases that are not values of the type are an error`(cases: String) throws {
    let message = try fault(typed(.int16, ["type": "enumeration", "cases": cases]))
    #expect(message.contains("'coherence.cases' are not values of its type"))
  }

  @Test func `an unknown type of the user info is an error that names the type`() throws {
    #expect(try fault(typed(.string, ["type": "tuple"])).contains("unknown 'coherence.type' 'tuple'"))
  }

  // MARK: Relationships

  private func declared(
    _ relationship: ModelFile.Relationship
  ) throws -> (declaration: Relationship?, warnings: [String]) {
    let whole = ModelFile(entities: [ModelFile.Entity("A", relationships: [relationship])])
    let entities = try whole.declarations(classes: .generic)
    return (entities[0].properties.first as? Relationship, whole.warnings)
  }

  @Test func `the counts of a relationship decide on one member or several, and on their least and greatest number`()
    throws
  {
    let optional = try #require(try declared(ModelFile.Relationship("r", to: "A", maximumCount: 1)).declaration)
    #expect(!optional.isToMany && optional.isOptional)
    let wide = try #require(try declared(ModelFile.Relationship("r", to: "A", maximumCount: 2)).declaration)
    #expect(wide.isToMany && wide.minimumCount == 0 && wide.maximumCount == 2)
    let unlimited = ModelFile.Relationship("r", to: "A", isToMany: true, optional: false, maximumCount: 0)
    let required = try #require(try declared(unlimited).declaration)
    #expect(required.isToMany && required.minimumCount == 1 && required.maximumCount == nil)
    let three = ModelFile.Relationship("r", to: "A", isToMany: true, optional: false, minimumCount: 3)
    #expect(try declared(three).declaration?.minimumCount == 3)
  }

  @Test func `a transient relationship is left out, and an inverse at another entity has a warning`() throws {
    let transient = try declared(ModelFile.Relationship("r", to: "A", isTransient: true))
    #expect(transient.declaration == nil)
    #expect(transient.warnings == ["Relationship 'A.r' is transient and left out."])
    let odd = try declared(ModelFile.Relationship("r", to: "A", inverse: "s", inverseEntity: "B"))
    #expect(odd.declaration?.inverse == "s")
    #expect(odd.warnings == ["Relationship 'A.r' has its inverse at 'A', not at 'B'."])
    let even = try declared(ModelFile.Relationship("r", to: "A", inverse: "s", inverseEntity: "A"))
    #expect(even.warnings == [])
  }

  // MARK: Fetched properties

  private func declared(
    _ request: ModelFile.FetchTemplate?
  ) throws -> (property: FetchedProperty?, warnings: [String]) {
    let property = ModelFile.FetchedProperty("f", request: request, otherAttributes: ["optional": "YES"])
    let whole = ModelFile(entities: [ModelFile.Entity("A", fetchedProperties: [property])])
    let entities = try whole.declarations(classes: .generic)
    return (entities[0].properties.first as? FetchedProperty, whole.warnings)
  }

  @Test func `a fetched property has the limit and the entities of its request`() throws {
    let all = try declared(ModelFile.FetchTemplate("q", entity: "A", fetchLimit: 0))
    let property = try #require(all.property)
    #expect(property.fetchLimit == nil && property.includesSubentities && property.predicate == nil)
    #expect(all.warnings == [])
    let own = try declared(
      ModelFile.FetchTemplate("q", entity: "A", predicate: "n == 1", fetchLimit: 3, includesSubentities: false))
    let limited = try #require(own.property)
    #expect(limited.fetchLimit == 3 && !limited.includesSubentities && limited.predicate == "n == 1")
  }

  @Test func `a fetched property without a request or with an unknown variable is left out, with a warning`() throws {
    let none = try declared(ModelFile.FetchTemplate?.none)
    #expect(none.property == nil)
    #expect(none.warnings == ["Fetched property 'A.f' has no request and is left out."])
    let odd = try declared(ModelFile.FetchTemplate("q", entity: "A", predicate: "n == $YEAR"))
    #expect(odd.property == nil)
    let warning = try #require(odd.warnings.first)
    #expect(odd.warnings.count == 1 && warning.contains("'A.f' is left out") && warning.contains("$YEAR"))
  }

  // MARK: Names

  @Test func `two entities with one renaming identifier, and two configurations of one name, are errors`() throws {
    let entities = [ModelFile.Entity("A", renamingIdentifier: "X"), ModelFile.Entity("B", renamingIdentifier: "X")]
    #expect { try ModelFile(entities: entities).declarations(classes: .generic) } throws: {
      ErrorCode.invalidModel ~= $0 && "\($0)".contains("Entities 'B' and 'A' have the same renaming identifier 'X'")
    }
    let whole = ModelFile(
      entities: [ModelFile.Entity("A")], configurations: [.init("C", entities: []), .init("C", entities: ["A"])])
    #expect { try whole.declarations(classes: .generic) } throws: {
      ErrorCode.invalidModel ~= $0 && "\($0)".contains("Two configurations are named 'C'")
    }
  }

  @Test func `the error of a missing template of a file without templates says so`() {
    #expect { try ModelFile().fetchRequest(named: "live") } throws: { "\($0)".contains("it has: none") }
  }
}
