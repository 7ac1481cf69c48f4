import Testing

/// Diagnostics of the options and types of attributes.
@Suite struct OptionComplaintTests {
  /// The diagnostics of a member of an entity's class, which stands in line 2.
  private func complaints(about member: String) -> [String] {
    ModelMacrosTests.complaints(of: "@Entity final class Track: ManagedObject {\n  \(member)\n}")
  }

  /// The diagnostic of two options of one attribute.
  private func conflict(_ first: String, _ second: String, _ reason: String) -> String {
    "2 | The options '.\(first)' and '.\(second)' contradict each other, because \(reason); remove one of them. "
      + "| remove the option"
  }

  @Test func `an option is read with the name of its type and of its module`() {
    let text = expansion(
      of: "@Entity final class Track: ManagedObject { @Attribute(AttributeOption.unique) var code: String; "
        + "@Attribute(CoherenceModelMacros.AttributeOption.unique) var mark: String }")
    #expect(text.contains("uniqueness: [[\"code\"], [\"mark\"]]"))
    #expect(
      complaints(about: "@Attribute(Options.unique) var title: String") == [
        "2 | The macro reads options from their text; write the option in place: '@Attribute(.unique)'."
      ])
  }

  @Test func `the second of several ways to store an attribute is diagnosed`() {
    let reason = "an attribute is stored in one way"
    #expect(
      complaints(about: "@Attribute(.codable, .transformable(\"size\")) var size: Size?") == [
        conflict("codable", "transformable", reason)
      ])
    #expect(
      complaints(about: "@Attribute(.codable, .composite, .transformable(\"size\")) var size: Size?") == [
        conflict("codable", "composite", reason)
      ])
    #expect(
      complaints(about: "@Attribute(.composite, .transformable(\"size\")) var size: Size?") == [
        conflict("composite", "transformable", reason)
      ])
  }

  @Test func `each further option of a composite and each repeated option is diagnosed`() {
    let reason = "the parts of a composite are attributes of their own"
    #expect(
      complaints(about: "@Attribute(.composite, .unique, .indexed) var size: Size") == [
        conflict("composite", "unique", reason), conflict("composite", "indexed", reason),
      ])
    #expect(complaints(about: "@Attribute(.unique, .unique, .unique) var title: String").count == 2)
  }

  @Test func `a length and its bounds are diagnosed`() {
    let reason = "both limit the length"
    let minimum = conflict("length", "minimumLength", reason)
    let maximum = conflict("length", "maximumLength", reason)
    #expect(complaints(about: "@Attribute(.length(1...2), .minimumLength(1)) var title: String") == [minimum])
    #expect(complaints(about: "@Attribute(.length(1...2), .maximumLength(2)) var title: String") == [maximum])
    #expect(
      complaints(about: "@Attribute(.length(1...2), .maximumLength(2), .minimumLength(1)) var title: String")
        == [minimum, maximum])
  }

  @Test func `a way to store a derived attribute is diagnosed`() {
    #expect(
      complaints(about: "@Attribute(.derived(.now), .codable) var saved: Date?") == [
        conflict("derived", "codable", "the rule decides the type of a derived value")
      ])
  }

  @Test func `the types of the values of a rule are accepted and others are diagnosed`() {
    for type in ["Int", "Int64"] {
      #expect(complaints(about: "@Attribute(.derived(.count(\"parts\"))) var parts: \(type)?") == [])
    }
    for rule in ["canonical", "lowercase", "uppercase"] {
      #expect(
        complaints(about: "@Attribute(.derived(.\(rule)(\"title\"))) var name: Int?") == [
          "2 | The rule of the derived attribute 'name' has values of type 'String'; declare the attribute as "
            + "'String?'. | replace the type by 'String?'"
        ])
    }
  }

  @Test(arguments: ["() -> Void", "(() -> Void)?", "((Int, Int))"])
  func `a function or a tuple in any form of a type is diagnosed`(type: String) {
    #expect(
      complaints(about: "var action: \(type)") == [
        "2 | The model has no attributes of the type '\(type)'; declare a structure with '@Composite' or a 'Codable' "
          + "one, or mark 'action' '@Transient'."
      ])
  }

  @Test(arguments: [
    ("Array<String>", " | replace the type by 'OrderedToMany'"), ("Set<String>", " | replace the type by 'ToMany'"),
    ("Dictionary<String, Int>", ""), ("[String: Int]", ""), ("[String]?", ""),
  ])
  func `only the list that a relationship can replace has that correction`(type: String, correction: String) {
    #expect(
      complaints(about: "var tags: \(type)") == [
        "2 | A list of values is stored as a 'Codable' value, and a list of objects as 'ToMany' or 'OrderedToMany'; "
          + "mark 'tags' with '@Attribute(.codable)', or change the type. | store the value as a 'Codable' value"
          + correction
      ])
  }

  @Test(arguments: [
    "@Attribute(.transformable(\"list\")) var tags: [String]", "@Attribute(.codable) var tags: [String]",
    "@Attribute(.codable) var style: Style?", "@Attribute(.codable) var style = Style()",
  ])
  func `a value that its option can store is not diagnosed`(member: String) {
    #expect(complaints(about: member) == [])
  }

  @Test(arguments: ["makeURL()", "Style.make()", ".Style()", "Box<Int>()", "style", "-\"text\""])
  func `a value whose text does not name its type is diagnosed`(value: String) {
    let found = complaints(about: "var title = \(value)")
    #expect(found.count == 1)
    #expect(found.first?.hasPrefix("2 | The macro sees the type of 'title' only in an annotation") == true)
  }
}
